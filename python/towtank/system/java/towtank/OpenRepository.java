package towtank;

import java.util.Map;
import javax.jcr.Repository;
import javax.jcr.RepositoryException;
import org.apache.chemistry.opencmis.jcr.JcrServiceFactory;
import org.apache.jackrabbit.core.RepositoryImpl;
import org.apache.jackrabbit.core.config.RepositoryConfig;

/**
 * Gives OpenCMIS a Jackrabbit repository that stays open as long as the server runs.
 *
 * The factory of OpenCMIS looks its repository up through a class that newer Java forbids, and gets one that is shut
 * down after every session.
 */
public class OpenRepository extends JcrServiceFactory {
    private RepositoryImpl opened;

    /** Opens the repository of a configuration, in the folder that a system property names. */
    static RepositoryImpl open(String configuration) throws RepositoryException {
        return RepositoryImpl.create(RepositoryConfig.create(configuration, System.getProperty("towtank.home")));
    }

    @Override
    protected Repository acquireJcrRepository(Map<String, String> configuration) {
        try {
            opened = open(System.getProperty("towtank.configuration"));
            return opened;
        } catch (RepositoryException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void destroy() {
        super.destroy();
        if (opened != null) {
            opened.shutdown();
        }
    }
}
