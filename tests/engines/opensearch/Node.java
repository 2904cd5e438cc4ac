import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.codelibs.opensearch.runner.node.OpenSearchRunnerNode;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.plugins.Plugin;

/** One OpenSearch node in a process of its own: folder, cluster, number, http port, transport ports of all. */
public class Node {
    private static final String[] MODULES = {
        "org.opensearch.transport.Netty4ModulePlugin",
        "org.opensearch.painless.PainlessModulePlugin",
        "org.opensearch.script.expression.ExpressionModulePlugin",
        "org.opensearch.script.mustache.MustacheModulePlugin",
        "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
        "org.opensearch.index.mapper.MapperExtrasModulePlugin",
    };

    @SuppressWarnings("unchecked")
    public static void main(String[] given) throws Exception {
        String folder = given[0], cluster = given[1], name = "node_" + given[2];
        String[] transports = given[4].split(",");
        List<String> seeds = new ArrayList<>(), names = new ArrayList<>();
        for (int at = 0; at < transports.length; at++) {
            seeds.add("127.0.0.1:" + transports[at]);
            names.add("node_" + at);
        }
        Settings settings = Settings.builder()
            .put("path.home", folder)
            .put("path.data", folder + "/data")
            .put("path.logs", folder + "/logs")
            .put("cluster.name", cluster)
            .put("node.name", name)
            .put("http.port", given[3])
            .put("transport.port", transports[Integer.parseInt(given[2])])
            .put("network.host", "127.0.0.1")
            .put("node.processors", 2)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .putList("discovery.seed_hosts", seeds)
            .putList("cluster.initial_cluster_manager_nodes", names)
            .build();
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        for (String module : MODULES) {
            plugins.add((Class<? extends Plugin>) Class.forName(module));
        }
        OpenSearchRunnerNode node =
            new OpenSearchRunnerNode(new Environment(settings, Path.of(folder, "config")), plugins);
        node.start();
        System.out.println("started " + name);
        System.in.read();  // ends with the process that started it
        node.close();
        System.exit(0);
    }
}
