package towtank;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Calendar;
import java.util.List;
import javax.jcr.Binary;
import javax.jcr.Node;
import javax.jcr.RepositoryException;
import javax.jcr.Session;
import javax.jcr.SimpleCredentials;
import org.apache.jackrabbit.core.NodeImpl;
import org.apache.jackrabbit.core.RepositoryImpl;

/**
 * Fills a repository before its servers are started, with the nodes that OpenCMIS makes of folders and documents.
 *
 * The first argument is a list, a line for each object: kind, identifier, path, media type, file of the content, and the
 * content itself where there is no file, separated by tabs. A folder stands before what is in it. The second is the
 * configuration of a node of the cluster.
 */
public final class Populate {
    /** Objects that are written to the database together. */
    private static final int TOGETHER = 100;

    private final Session session;

    private Populate(Session session) {
        this.session = session;
    }

    /** Fills the repository that the system properties name. */
    public static void main(String[] arguments) throws Exception {
        RepositoryImpl repository = OpenRepository.open(System.getProperty("towtank.configuration"));
        try {
            Session session = repository.login(new SimpleCredentials("population", new char[0]));
            int count = new Populate(session).fill(Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.UTF_8));
            System.out.println("made " + count + " objects");
        } finally {
            repository.shutdown();
        }
        // Makes the tables of the journal, which nodes that start together would make at the same time. The journal
        // itself stays empty: every node starts with all that is there.
        OpenRepository.open(arguments[1]).shutdown();
    }

    private int fill(List<String> lines) throws RepositoryException, IOException {
        for (int start = 0; start < lines.size(); start += TOGETHER) {
            List<String> together = lines.subList(start, Math.min(start + TOGETHER, lines.size()));
            for (String line : together) {
                add(line.split("\t", -1));
            }
            session.save();
            for (String line : together) {
                String[] fields = line.split("\t", -1);
                if (fields[0].equals("document")) {
                    session.getWorkspace().getVersionManager().checkin(fields[2]);
                }
            }
        }
        return lines.size();
    }

    private void add(String[] fields) throws RepositoryException, IOException {
        String path = fields[2];
        int last = path.lastIndexOf('/');
        NodeImpl parent = (NodeImpl) session.getNode(last == 0 ? "/" : path.substring(0, last));
        boolean isFolder = fields[0].equals("folder");
        Node node = parent.addNodeWithUuid(path.substring(last + 1), isFolder ? "nt:folder" : "nt:file", fields[1]);
        if (isFolder) {
            node.addMixin("mix:created");
            node.addMixin("mix:lastModified");
        } else {
            // Queries of OpenCMIS look for this very mixin.
            node.addMixin("mix:simpleVersionable");
            addContent(node, fields[3], fields[4], fields[5]);
        }
    }

    private void addContent(Node document, String type, String file, String text) throws RepositoryException, IOException {
        Node content = document.addNode("jcr:content", "nt:resource");
        content.addMixin("mix:created");
        content.setProperty("jcr:mimeType", type);
        content.setProperty("jcr:lastModified", Calendar.getInstance());
        try (InputStream stream = open(file, text)) {
            Binary binary = session.getValueFactory().createBinary(stream);
            content.setProperty("jcr:data", binary);
            binary.dispose();
        }
    }

    private static InputStream open(String file, String text) throws IOException {
        Path path = Paths.get(file);
        return file.isEmpty() ? new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)) : Files.newInputStream(path);
    }
}
