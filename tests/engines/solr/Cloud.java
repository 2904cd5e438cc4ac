import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.solr.client.solrj.embedded.JettyConfig;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;
import org.apache.solr.cloud.MiniSolrCloudCluster;

/** A SolrCloud with ZooKeeper in one process: folder, nodes, folder of the config set. */
public class Cloud {
    public static void main(String[] given) throws Exception {
        Path folder = Path.of(given[0]);
        Files.createDirectories(folder);
        MiniSolrCloudCluster cluster = new MiniSolrCloudCluster(
            Integer.parseInt(given[1]), folder, JettyConfig.builder().setContext("/solr").build());
        cluster.uploadConfigSet(Path.of(given[2]), "rankloop");
        List<String> hosts = new ArrayList<>();
        for (JettySolrRunner runner : cluster.getJettySolrRunners()) {
            hosts.add(runner.getBaseUrl().getHost() + ":" + runner.getLocalPort());
        }
        System.out.println("started " + String.join(",", hosts));
        System.in.read();  // ends with the process that started it
        System.exit(0);
    }
}
