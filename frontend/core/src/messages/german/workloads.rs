//! Messages of pods, workloads and nodes: states, fields and advice.

use crate::messages::{counted, translation};

/// Formats a count of type `i64` with its noun.
fn counted_from(count: i64, one: &str, other: &str) -> String {
    counted(usize::try_from(count).unwrap_or_default(), one, other)
}

translation! { German;
    pods: Pods {
        init = "Init";
        sidecar = "Sidecar";
        ephemeral = "Ephemeral";
        probe_failed = "Die Readiness- oder Startup-Probe war noch nicht erfolgreich. Die Events prüfen.";
        running_not_ready = "Läuft, nicht bereit";
        ended(reason: &str, code: i64) = format!("{reason}, Exit-Code {code}");
        exit_code(code: i64, meaning: &str) = format!("Exit-Code {code}: {meaning}.");
        crash_loop = "Der Container wird immer wieder beendet, und das Kubelet verzögert seinen Neustart. Die Logs des vorherigen Laufs prüfen.";
        image_pull = "Das Image kann nicht geladen werden. Seinen Namen und sein Tag, den Zugriff des Nodes auf die Registry und das Pull-Secret prüfen.";
        invalid_image = "Der Name des Images ist ungültig. Den Namen des Images korrigieren.";
        image_never_pulled = "Das Image ist nicht auf dem Node, und die Pull-Policy verbietet das Laden.";
        config_error = "Eine referenzierte ConfigMap, ein Secret oder ein Schlüssel fehlt. Das Objekt erstellen oder die Referenz korrigieren.";
        create_error = "Der Container kann nicht erstellt werden. Seinen Befehl, seine Mounts und sein Image prüfen.";
        host_port(port: i64) = format!(", Host-Port {port}");
        startup = "Startup";
        readiness = "Readiness";
        liveness = "Liveness";
        http_probe(path: &str, port: &str, scheme: &str) = format!("GET {path} auf Port {port} ({scheme})");
        tcp_probe(port: &str) = format!("TCP-Port {port}");
        grpc_probe(port: &str) = format!("gRPC-Health auf Port {port}");
        exec_probe(command: &str) = format!("führt {command} aus");
        probe(action: &str, period: i64, timeout: i64, failures: i64) = format!("{action}, alle {period} s, Timeout {timeout} s, schlägt fehl nach {failures} in Folge", failures = counted_from(failures, "Fehler", "Fehlern"));
        crash(code: Option<i64>, restarts: i64) = {
            let restarts = counted_from(restarts, "Neustart", "Neustarts");
            match code {
                Some(code) => format!("Exit-Code {code}, {restarts}"),
                None => restarts,
            }
        };
        exit_oom = "Arbeitsspeicher erschöpft. Das Memory-Limit erhöhen oder den Speicherverbrauch verringern";
        exit_not_started = "Der Container konnte nicht gestartet werden. Seinen Befehl und sein Image prüfen";
        exit_deadline = "Die Frist wurde überschritten";
        exit_success = "erfolgreich";
        exit_error = "allgemeiner Fehler. Die Logs prüfen";
        exit_usage = "falsche Verwendung oder Panic. Die Logs prüfen";
        exit_runtime = "Fehler der Container-Runtime";
        exit_not_executable = "Der Befehl ist nicht ausführbar. Die Berechtigungen der Datei prüfen";
        exit_not_found = "Befehl nicht gefunden. Das Image und den Befehl prüfen";
        exit_interrupted = "unterbrochen (SIGINT)";
        exit_illegal = "ungültige Instruktion (SIGILL). Die Prozessorarchitektur des Images prüfen";
        exit_aborted = "abgebrochen (SIGABRT). Die Logs prüfen";
        exit_bus = "Busfehler (SIGBUS)";
        exit_arithmetic = "arithmetischer Fehler (SIGFPE)";
        exit_killed = "beendet (SIGKILL): Der Arbeitsspeicher des Nodes war erschöpft, die Liveness-Probe schlug fehl, oder der Container stoppte nicht rechtzeitig";
        exit_segfault = "Speicherzugriffsfehler (SIGSEGV)";
        exit_pipe = "unterbrochene Pipe (SIGPIPE)";
        exit_terminated = "beendet (SIGTERM)";
        exit_out_of_range = "Exit-Status außerhalb des gültigen Bereichs";
        exit_custom = "Fehlercode des Programms";
        exit_signal(signal: i64) = format!("beendet durch Signal {signal}");
        succeeded = "Alle Container wurden ohne Fehler beendet.";
        unknown = "Der Node antwortet nicht, deshalb ist der Status unbekannt. Den Node prüfen.";
        evicted = "Dem Node fehlte eine Ressource, und er hat den Pod verdrängt (Eviction).";
        deadline = "Der Pod hat activeDeadlineSeconds überschritten.";
        node_lost = "Der Node antwortet nicht.";
        node_rejected = "Der Node hat den Pod abgelehnt.";
        containers_ready = "Bereite Container";
        restarts = "Neustarts";
        pod_ip = "Pod-IP";
        node_ip = "Node-IP";
        qos = "QoS-Klasse";
        service_account = "ServiceAccount";
        restart_policy = "Neustart-Policy";
        priority_class = "Prioritätsklasse";
        volumes = "Volumes";
        node = "Node";
        deleting_now = "Der Pod wird ohne Frist gelöscht.";
        deleting_within(seconds: i64) = format!("Der Pod wird gelöscht. Seine Container haben {seconds} s zum Stoppen.");
        deleting = "Der Pod wird gelöscht.";
        container(name: &str) = format!("Container {name}");
        container_of_role(container_role: &str, name: &str) = format!("{container_role}-Container {name}");
        some_ready(ready: usize, all: usize) = format!("{ready} von {all} Containern bereit");
        unschedulable(cause: &str) = format!("Kein Node passt zum Pod: {cause}");
        initializing(container: &str) = format!("Ausstehend: Init-Container {container}");
        not_accepted(node: &str) = format!("Das Kubelet des Nodes {node} hat den Pod noch nicht angenommen. Wenn der Pod in diesem Status bleibt, prüfen, ob der Node Ready ist.");
        on_lost_node(node: &str) = format!("Der Node {node} ist nicht Ready, deshalb ist der Status unten der letzte gemeldete Status. Die Maschine und ihr Netzwerk prüfen.");
        ready_of(ready: usize, all: usize) = format!("{ready} von {all}");
        guaranteed = "Guaranteed: bei Ressourcenmangel des Nodes zuletzt verdrängt";
        burstable = "Burstable: bei Ressourcenmangel des Nodes vor Guaranteed-Pods verdrängt";
        best_effort = "BestEffort: bei Ressourcenmangel des Nodes zuerst verdrängt";
    }

    workloads: Workloads {
        deployment_by_replica_set(deployment: &str, replica_set: &str) = format!("Deployment {deployment}, durch ReplicaSet {replica_set}");
        complete = "abgeschlossen";
        failed = "fehlgeschlagen";
        suspended = "ausgesetzt";
        waiting_for_pods = "wartet auf Pods";
        job_running(completed: i64, desired: i64) = format!("läuft: {completed} von {desired} abgeschlossen");
        job_running_parallel(active: i64) = format!("läuft: {active} parallel");
        job_failures(failures: i64, limit: i64) = format!("{failures} fehlgeschlagen; der Job stoppt nach {limit} Fehlern. Die Logs der Pods prüfen.", failures = counted_from(failures, "Pod", "Pods"));
        completions = "Abschlüsse";
        active = "Aktiv";
        failed_pods = "Fehlgeschlagen";
        started = "Gestartet";
        completed = "Abgeschlossen";
        duration = "Dauer";
        parallelism = "Parallelität";
        backoff_limit = "Backoff-Grenze";
        active_deadline = "Frist der Laufzeit";
        ttl_after_finished = "TTL nach Abschluss";
        images = "Images";
        runs = "Führt aus";
        schedule = "Zeitplan";
        time_zone = "Zeitzone";
        cluster_time_zone = "Zeitzone des Clusters";
        last_run = "Letzter Lauf";
        last_success = "Letzter Erfolg";
        running_jobs = "Laufende Jobs";
        concurrency_policy = "Concurrency-Policy";
        starting_deadline = "Frist zum Starten";
        successful_history = "Aufbewahrte erfolgreiche Jobs";
        failed_history = "Aufbewahrte fehlgeschlagene Jobs";
        done_of(completed: i64, desired: i64) = format!("{completed} von {desired}");
        done_first_success(completed: i64) = format!("{completed}; der erste Erfolg schließt den Job ab");
        cron_suspended = "Der CronJob ist ausgesetzt. suspend auf false setzen, um Jobs zu starten.";
        scheduled = "geplant";
        jobs_running(count: usize) = match count {
            1 => "1 Job läuft".to_owned(),
            count => format!("{count} Jobs laufen"),
        };
        concurrency_allow = "Allow: Jobs laufen gleichzeitig";
        concurrency_forbid = "Forbid: Der nächste Lauf wird übersprungen";
        concurrency_replace = "Replace: Der nächste Lauf ersetzt den laufenden Job";
        cordoned = "Der Node ist gesperrt (cordon): Keine neuen Pods werden auf ihm geplant. kubectl uncordon ausführen, um neue Pods zu erlauben.";
        runtime = "Container-Runtime";
        operating_system = "Betriebssystem";
        kernel = "Kernel";
        architecture = "Architektur";
        node_roles = "Rollen";
        addresses = "Adressen";
        taints = "Taints";
        pod_cidr = "Pod-CIDR";
        provider_id = "Provider-ID";
        capacity = "Kapazität";
        local_disk = "Ephemeral Storage";
        allocatable(allocatable: &str, capacity: &str) = format!("{allocatable} von {capacity} zuteilbar");
        finalizers(names: &str) = format!("Finalizer verzögern das Löschen: {names}. Wenn die Finalizer bleiben, die Logs ihrer Controller prüfen.");
        not_observed = "wird aktualisiert";
        not_observed_help = "Der Controller hat die letzte Änderung noch nicht verarbeitet.";
        paused = "angehalten";
        paused_help = "Der Rollout ist angehalten. Ihn mit kubectl rollout resume fortsetzen.";
        no_node = "kein passender Node";
        no_node_help = "Kein Node entspricht dem Node-Selector, deshalb laufen keine Pods.";
        scaled_to_zero = "auf 0 skaliert";
        check_pods = "Die Pods unten prüfen, die nicht bereit sind.";
        rollout_stuck = "Rollout blockiert";
        pods_rejected = "Pods können nicht erstellt werden";
        desired = "Gewünscht";
        ready = "Bereit";
        updated = "Aktualisiert";
        available = "Verfügbar";
        misscheduled = "Falsch platziert";
        strategy = "Strategie";
        selector = "Selector";
        service = "Service";
        pod_management = "Pod-Verwaltung";
        node_selector = "Node-Selector";
        volume_claims = "Volume-Claims";
        revision = "Revision";
        revision_history = "Grenze der Revisionshistorie";
        rolling_update = "Rolling Update";
        recreate = "Recreate: Alte Pods stoppen, bevor neue Pods starten";
        on_delete = "OnDelete: Ein Pod wird aktualisiert, wenn er gelöscht wird";
        max_unavailable = "max. nicht verfügbar";
        max_surge = "max. zusätzlich";
        partition = "Partition";
        ordered_ready = "der Reihe nach: Jeder Pod wartet, bis der vorherige Pod bereit ist";
        parallel = "parallel";
        default_class = "Standard-StorageClass";
        rolling_out(updated: i64, desired: i64) = format!("Rollout läuft: {updated} von {desired} aktualisiert");
        some_available(available: i64, desired: i64) = format!("{available} von {desired} verfügbar");
        all_ready(ready: i64, desired: i64) = format!("{ready} von {desired} bereit");
        kubelet_not_ready = "Kubelet meldet nicht bereit";
        kubelet_silent = "Kubelet meldet sich nicht";
        no_schedule = "keine neuen Pods";
        prefer_no_schedule = "vermeidet neue Pods";
        no_execute = "verdrängt Pods";
        taint(key: &str, effect: &str) = format!("Pods, die den Taint {key}:{effect} tolerieren, sind ausgenommen.");
    }

    conditions: Conditions {
        node_unknown = "Das Kubelet meldet sich nicht. Die Maschine, ihr Netzwerk und das Log des Kubelets prüfen.";
        pod_unknown = "Der Status ist unbekannt. Prüfen, ob der Node des Pods Ready ist.";
        rollout_paused = "Der Rollout ist angehalten. Ihn mit kubectl rollout resume fortsetzen.";
        not_reported = "Der Controller meldet diese Condition nicht. Die Events prüfen.";
        scheduling_gated = "Scheduling Gates blockieren den Pod. Kubernetes plant den Pod, sobald alle Gates entfernt sind.";
        unschedulable = "Kein Node passt zum Pod. Nodes hinzufügen, seine Requests verringern, oder seinen Node-Selector, seine Affinität, seine Tolerations und seine Volumes prüfen.";
        init_running = "Ein Init-Container läuft noch. Seinen Status und seine Logs prüfen.";
        containers_not_ready = "Einige Container sind nicht bereit. Ihren Status, ihre Logs und ihre Readiness-Probes prüfen.";
        sandbox_pending = "Der Node bereitet das Netzwerk und die Volumes des Pods vor. Wenn der Pod in diesem Status bleibt, die Events prüfen.";
        disruption = "Der Pod wird verdrängt (Eviction). Sein Controller erstellt einen Ersatz.";
        rollout_stuck = "Die neuen Pods werden nicht bereit. Die Pods unten prüfen, oder den Rollout mit kubectl rollout undo zurücksetzen.";
        too_few_available = "Zu wenige Pods sind verfügbar. Die Pods unten prüfen, die nicht bereit sind.";
        replica_failure = "Pods können nicht erstellt werden: Eine Quota, ein Webhook oder ein fehlendes ServiceAccount verhindert das Erstellen. Die Meldung zeigt die Ursache.";
        backoff_limit = "Die Pods sind zu oft fehlgeschlagen. Ihre Logs prüfen, dann den Job löschen und neu erstellen.";
        deadline = "Der Job hat activeDeadlineSeconds überschritten. Die Grenze erhöhen oder die Arbeit verringern.";
        suspended = "Der Job ist ausgesetzt. suspend auf false setzen, um ihn zu starten.";
        node_not_ready = "Das Kubelet meldet den Node nicht als bereit. Die Maschine, ihr Netzwerk und das Log des Kubelets prüfen.";
        memory_pressure = "Dem Node fehlt Arbeitsspeicher, und er verdrängt Pods. Die Requests auf diesem Node verringern oder Nodes hinzufügen.";
        disk_pressure = "Der Datenträger ist fast voll. Images und Logs entfernen oder den Datenträger vergrößern.";
        pid_pressure = "Auf dem Node laufen zu viele Prozesse. Den Pod finden, der sie startet.";
        network_unavailable = "Das Netzwerk des Nodes ist nicht eingerichtet. Die Pods des Netzwerk-Plugins auf diesem Node prüfen.";
    }
}
