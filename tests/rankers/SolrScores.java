import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.solr.common.util.Utils;
import org.apache.solr.core.SolrResourceLoader;
import org.apache.solr.ltr.feature.Feature;
import org.apache.solr.ltr.model.LTRScoringModel;
import org.apache.solr.ltr.norm.IdentityNormalizer;
import org.apache.solr.ltr.norm.Normalizer;

/** Scores of Solr's own classes: the file of a model, then one row of features per line of the input. */
public class SolrScores {
  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    Map<String, Object> model = (Map<String, Object>) Utils.fromJSONString(Files.readString(Path.of(args[0])));
    SolrResourceLoader loader = new SolrResourceLoader(Files.createTempDirectory("solr"));
    List<Feature> features = new ArrayList<>();
    List<Normalizer> norms = new ArrayList<>();
    for (Map<String, Object> one : (List<Map<String, Object>>) model.get("features")) {
      Map<String, Object> params = new HashMap<>();
      params.put("value", "1.0");
      features.add(Feature.getInstance(loader, "org.apache.solr.ltr.feature.ValueFeature", (String) one.get("name"), params));
      Map<String, Object> norm = (Map<String, Object>) one.get("norm");
      norms.add(
          norm == null
              ? IdentityNormalizer.INSTANCE
              : Normalizer.getInstance(loader, (String) norm.get("class"), (Map<String, Object>) norm.get("params")));
    }
    LTRScoringModel made =
        LTRScoringModel.getInstance(
            loader,
            (String) model.get("class"),
            (String) model.get("name"),
            features,
            norms,
            (String) model.get("store"),
            features,
            (Map<String, Object>) model.get("params"));
    BufferedReader rows = new BufferedReader(new InputStreamReader(System.in));
    StringBuilder scores = new StringBuilder();
    for (String line = rows.readLine(); line != null; line = rows.readLine()) {
      String[] cells = line.split(" ");
      float[] values = new float[cells.length];
      for (int i = 0; i < cells.length; i++) {
        values[i] = norms.get(i).normalize(Float.parseFloat(cells[i]));
      }
      scores.append(made.score(values)).append('\n');
    }
    System.out.print(scores);
  }
}
