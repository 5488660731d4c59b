// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Runs files of SQL one after the other, as Flink's own client does, in a cluster within this process; prints rows, and
 * waits for an INSERT to end. */
public class RunSql {
    private static final String BATCH = "SET 'execution.runtime-mode' = 'batch'";

    public static void main(String[] files) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("local.number-taskmanager", "2");
        StringBuilder text = new StringBuilder();
        for (String file : files) {
            text.append(Files.readString(Path.of(file)).replaceAll("(?m)--.*$", ""));
        }
        boolean isBatch = text.toString().contains(BATCH);  // is chosen for a session, before its first statement
        var tables = StreamTableEnvironment.create(StreamExecutionEnvironment.createLocalEnvironment(2, settings),
            isBatch ? EnvironmentSettings.inBatchMode() : EnvironmentSettings.inStreamingMode());
        for (String statement : text.toString().replace(BATCH, "").split(";")) {
            run(tables, statement.strip());
        }
    }

    private static void run(StreamTableEnvironment tables, String statement) throws Exception {
        if (statement.startsWith("SET")) {
            String[] parts = statement.split("'");
            tables.getConfig().set(parts[1], parts[3]);
        } else if (!statement.isEmpty()) {
            TableResult result = tables.executeSql(statement);
            if (statement.startsWith("SELECT")) {
                result.collect().forEachRemaining(System.out::println);
            } else if (statement.startsWith("INSERT")) {
                result.await();
            }
        }
    }
}
