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

    /** Opens the repository of the configuration and folder that the system properties name. */
    static RepositoryImpl open() throws RepositoryException {
        return RepositoryImpl.create(RepositoryConfig.create(
                System.getProperty("towtank.configuration"), System.getProperty("towtank.home")));
    }

    @Override
    protected Repository acquireJcrRepository(Map<String, String> configuration) {
        try {
            opened = open();
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
