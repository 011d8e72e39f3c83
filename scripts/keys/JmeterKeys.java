import java.beans.IntrospectionException;
import java.beans.Introspector;
import java.beans.PropertyDescriptor;
import java.io.FileReader;
import java.io.Reader;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Prints the test elements of JMeter with their properties, as JSON. Argument: path of saveservice.properties. */
public class JmeterKeys {
    private static final Set<String> METHODS = Set.of("HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2");

    public static void main(String[] arguments) throws Exception {
        Properties names = new Properties();
        try (Reader reader = new FileReader(arguments[0])) {
            names.load(reader);
        }
        Map<String, Set<String>> found = new TreeMap<>();
        for (String aliases : names.stringPropertyNames()) {
            for (String alias : aliases.split(",")) {
                Class<?> kind = element(names.getProperty(aliases).split(",")[0].trim());
                if (kind != null && !alias.startsWith("_")) {
                    found.put(alias, keys(alias, kind));
                }
            }
        }
        StringBuilder out = new StringBuilder();
        for (Map.Entry<String, Set<String>> each : found.entrySet()) {
            out.append(out.length() > 0 ? ",\n" : "").append('"').append(each.getKey()).append("\": [");
            out.append(each.getValue().isEmpty() ? "" : "\"" + String.join("\", \"", each.getValue()) + "\"");
            out.append(']');
        }
        System.out.println("{\n" + out + "\n}");
    }

    /** Returns the class of a test element; null if the name is not of a test element that a test plan can contain. */
    private static Class<?> element(String name) throws ClassNotFoundException {
        try {
            Class<?> kind = Class.forName(name);
            boolean fits = Class.forName("org.apache.jmeter.testelement.TestElement").isAssignableFrom(kind);
            return fits && !Modifier.isAbstract(kind.getModifiers()) ? kind : null;
        } catch (ClassNotFoundException | LinkageError absent) {
            return null;
        }
    }

    /** Returns the names of the properties: constants of a class and its superclasses, and the properties of a bean. */
    private static Set<String> keys(String alias, Class<?> kind) throws Exception {
        Set<String> keys = new TreeSet<>();
        String form = METHODS.contains(alias) ? "[A-Za-z_]\\w*\\.[A-Za-z_0-9.]+" : "[A-Za-z_]\\w*(\\.[A-Za-z_0-9.]+)*";
        for (Class<?> at = kind; at != null && at.getName().startsWith("org.apache.jmeter"); at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                int modifiers = field.getModifiers();
                if (field.getType() != String.class || !Modifier.isStatic(modifiers) || !Modifier.isFinal(modifiers)) {
                    continue;
                }
                field.setAccessible(true);
                String value = (String) field.get(null);
                if (value != null && value.matches(form) && !value.matches("(org|java|javax)\\..*|.*jmeter\\..*")) {
                    keys.add(value);
                }
            }
        }
        if (Class.forName("org.apache.jmeter.testbeans.TestBean").isAssignableFrom(kind)) {
            keys.addAll(properties(kind));
        }
        return keys;
    }

    private static Set<String> properties(Class<?> bean) throws IntrospectionException {
        Set<String> keys = new TreeSet<>();
        for (PropertyDescriptor each : Introspector.getBeanInfo(bean, bean.getSuperclass(),
                Introspector.IGNORE_ALL_BEANINFO).getPropertyDescriptors()) {
            if (each.getWriteMethod() != null) {
                keys.add(each.getName());
            }
        }
        return keys;
    }
}
