//! Messages of the page of an object and of its log.

use crate::messages::{LocalTime, Rich, counted, link, strong, translation};

translation! { German;
    object: Object {
        no_page(kind: &str) = format!("Keine Seite für {kind}");
        no_page_advice = "Drover hat keine Seite für diese Art von Objekten. kubectl verwenden.";
        not_found(kind: &str, name: &str, namespace: Option<&str>) = match namespace {
            Some(namespace) => format!("{kind} {name} im Namespace {namespace} nicht gefunden"),
            None => format!("{kind} {name} nicht gefunden"),
        };
        not_found_advice = "Das Objekt wurde gelöscht oder hat nie existiert. Das Objekt erscheint hier, sobald es erstellt wird.";
        all(kind: &str) = format!("Alle {kind}");
        in_namespace(kind: &str, namespace: &str) = format!("{kind} in {namespace}");
        deleted_at(time: &LocalTime) = format!("Das Objekt wurde um {time} gelöscht. Sein letzter bekannter Zustand wird angezeigt.");
        replaced = "Das Objekt wurde gelöscht und neu erstellt. Das neue Objekt wird angezeigt.";
        events = "Events";
        views = "Ansichten des Objekts";
        forbidden(resource: &str) = format!("Keine Leseberechtigung für {resource}");
        retrying = "Neue Versuche erfolgen automatisch.";
        cluster_offline = "Der Cluster antwortet nicht";
        cluster_offline_advice = "Die Übersicht des Clusters zeigt die Ursache. Neue Versuche erfolgen automatisch.";
        agent_refused = "Der Cluster akzeptiert die Anmeldedaten des Agents nicht";
        agent_refused_advice = "Der API-Server lehnt das ServiceAccount des Agents ab. Das Log des Agents prüfen.";
        missing(resource: &str) = format!("Nicht gefunden: {resource}");
        missing_advice = "Nicht gefunden. Das Objekt wurde gelöscht oder hat nie existiert.";
        failed(resource: &str) = format!("Lesen nicht möglich: {resource}");
        more_crashes_of_pod(count: usize) = format!("{crashing_containers}. Die Container unten prüfen.", crashing_containers = counted(count, "weiterer abstürzender Container", "weitere abstürzende Container"));
        more_crashes(count: usize) = format!("{crashing_containers}. Die Pods unten prüfen.", crashing_containers = counted(count, "weiterer abstürzender Container", "weitere abstürzende Container"));
        open_previous_log = "Vorheriges Log öffnen";
        open_log = "Log öffnen";
        crash(state: &str, container: &str, pod: Option<(&str, &str)>, exit_and_restarts: &str, age: Option<&str>, meaning: Option<&str>) -> Rich = {
            let mut text = strong(state.to_owned()) + format!(": Container {container}");
            if let Some((name, href)) = pod {
                text = text + " von " + link(name.to_owned(), href);
            }
            text = match age {
                Some(age) => text + format!(" ({exit_and_restarts}, vor {age})."),
                None => text + format!(" ({exit_and_restarts})."),
            };
            match meaning {
                Some(meaning) => text + format!(" Bedeutung: {meaning}."),
                None => text,
            }
        };
        the_events = "Events";
        no_events = "Keine Events";
        no_events_advice = "Kubernetes speichert Events standardmäßig eine Stunde lang. Neue Events erscheinen hier automatisch.";
        older_events(count: usize) = format!("{older_events} nicht angezeigt.", older_events = counted(count, "älteres Event", "ältere Events"));
        times_in(count: u64, age: &str) = format!("{count}-mal in {age}");
        none_related(kind: &str) = format!("Keine {kind}.");
        more_related(count: usize) = format!("{count} weitere Objekte nicht angezeigt.");
        ready(count: &str) = format!("{count} bereit");
        on_node = "auf";
        the_manifest = "Manifest";
        changed_since(time: &LocalTime) = format!("Das Objekt wurde seit {time} geändert. ");
        yaml_note = "YAML vom API-Server";
        json_note = "JSON: Der API-Server stellt kein YAML bereit";
        managed_fields = "Managed Fields";
        find = "Im Manifest suchen";
        manifest = "Manifest";
        owners = "Eigentümer";
        metadata = "Metadaten";
        annotations = "Annotations";
        containers = "Container";
        previous_run = "Vorheriger Lauf";
        image = "Image";
        ports = "Ports";
        requests = "Requests";
        limits = "Limits";
        long_value(key: &str, bytes: usize) = format!("{key} ({bytes} Bytes)");
        probe(name: &str) = format!("{name}-Probe");
    }

    log: Log {
        end = "Ende des Logs.";
        pod_deleted = "Der Pod wurde gelöscht. Das Log ist vollständig.";
        ended(cause: &str) = format!("Der Container wurde beendet. {cause}");
        restarting(cause: &str) = format!("Der Container wurde beendet und wird neu gestartet. {cause}");
        waiting(cause: &str) = format!("Der Container wartet auf den Neustart. {cause}");
        cut_line(bytes: usize) = format!(" … ({bytes} weitere Bytes dieser Zeile)");
        no_pods = "Keine Pods";
        no_pods_advice = "Die Logs der Pods erscheinen hier, sobald Pods erstellt sind.";
        pod_gone = "Pod nicht gefunden";
        pod_gone_advice = "Der Pod und seine Logs wurden gelöscht. Einen anderen Pod auswählen.";
        the_pods = "Pods";
        pod = "Pod";
        gone(pod: &str) = format!("{pod} (gelöscht)");
        since_start = "Start";
        lines(count: usize) = counted(count, "Zeile", "Zeilen");
        container = "Container";
        since = "Seit";
        tail = "Zeilengrenze";
        options = "Log-Optionen";
        follow = "Folgen";
        previous = "Vorheriger Lauf";
        times = "Zeitstempel";
        wrap = "Zeilen umbrechen";
        missing_lines(count: &str) = format!("{count} Zeilen fehlen: Die Seite hat das Log zu langsam gelesen.");
        cannot_download = "Der Browser kann keine Dateien speichern. Den Text kopieren.";
        interrupted(time: &LocalTime, cause: &str) = format!("Der Datenstrom wurde um {time} unterbrochen. {cause} Neue Versuche erfolgen automatisch; es gehen keine Zeilen verloren.");
        state_loading = "wird geladen";
        state_waiting = "wartet auf den Container";
        state_following = "folgt";
        state_interrupted(time: &LocalTime) = format!("unterbrochen seit {time}");
        state_refused = "abgelehnt";
        state_complete = "vollständig";
        newest_lines(lines: &str, limit: usize, dropped: u64) = format!("{lines} angezeigt (Maximum {limit}), {dropped} ältere Zeilen verworfen");
        find = "Im Log suchen";
        show_new(lines: usize) = match lines {
            0 => "Zum Ende gehen".to_owned(),
            lines => format!("{} anzeigen", counted(lines, "neue Zeile", "neue Zeilen")),
        };
        paused = "Angehalten";
        no_lines_yet = "Noch keine Zeilen";
        no_lines_yet_advice = "Der Container hat noch keine Zeilen geschrieben. Neue Zeilen erscheinen hier.";
        not_running = "Der Container läuft nicht";
        no_lines = "Keine Zeilen";
        not_found = "Log nicht gefunden";
        the_log = "Log";
        log = "Log";
        interruption_note = "Der Datenstrom wurde unterbrochen. Das Log geht hier weiter.";
        all_pods(count: usize) = format!("Alle Pods ({count})");
        all_containers = "Alle Container";
        level = "Stufe";
        level_all = "alle";
        level_info = "Info und höher";
        level_warning = "Warnungen und Fehler";
        level_error = "Fehler";
        filter = "Filter (regulärer Ausdruck)";
        bad_filter = "Kein regulärer Ausdruck";
        hidden_lines(lines: usize) = format!("{} durch den Filter ausgeblendet", counted(lines, "Zeile", "Zeilen"));
        too_many(limit: usize) = format!("Dieser Workload hat mehr als {limit} Container. Das Log zeigt {limit} Container: Einen Container oder einen Pod auswählen.");
        of_source(source: &str, words: &str) = format!("{source}: {words}");
    }
}
