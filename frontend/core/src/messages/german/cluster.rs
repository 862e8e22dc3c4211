//! Messages of the lists of objects in a cluster, the page of a cluster, and the import.

use crate::messages::{LocalTime, Rich, code, counted, strong, translation};

/// Formats a count of clusters.
fn clusters(count: usize) -> String {
    counted(count, "Cluster", "Clustern")
}

translation! { German;
    kinds: Kinds {
        no_screen(kind: &str) = format!("Keine Seite für {kind}");
        no_screen_advice = "Oben eine Liste auswählen oder kubectl für diese Ressource verwenden.";
        notes = "Hinweise";
        and_others(names: &str, others: usize) = format!("{names} und {others} weitere");
        usage_range(lowest: &str, highest: &str, period: &str) = format!("Minimum {lowest}, Maximum {highest}, Zeitraum {period}");
        usage_not_installed(clusters: &str) = format!("Keine CPU- und Speichernutzung in {clusters}. Dort metrics-server installieren.");
        usage_forbidden(plural: &str, clusters: &str) = format!("Keine CPU- und Speichernutzung in {clusters}. Erforderliche Berechtigung: {plural}.metrics.k8s.io auflisten.");
        usage_failed(clusters: &str, reason: &str) = format!("Keine CPU- und Speichernutzung in {clusters}: {reason}");
        cordoned = ", gesperrt (cordon)";
        all_namespaces = "Alle Namespaces";
        filter(kind: &str) = format!("{kind} filtern");
        filter_hint = "Name  app=web  state:failing  -nicht";
        wide = "Alle Spalten";
        cut(clusters: &str) = format!("Die Liste von {clusters} ist unvollständig, weil der Server eine Speichergrenze für Listen erreicht hat. Einen Namespace auswählen.");
        empty(kind: &str, scope: &str) = format!("Keine {kind} in {scope}");
        empty_advice = "Neue Objekte erscheinen hier automatisch.";
        empty_everywhere(kind: &str) = format!("Keine {kind} in diesen Clustern");
        in_clusters(count: usize) = format!("{count} Cluster");
        filter_clusters = "Cluster filtern";
        filter_clusters_hint = "env=prod  Name";
        no_clusters = "Kein Cluster entspricht dem Filter";
        no_clusters_advice = "Den Filter der Cluster ändern. Cluster, die auf ihren Agent warten, werden nicht aufgelistet.";
        missing_clusters(count: usize) = match count {
            1 => "Die Liste ist unvollständig: 1 Cluster fehlt.".to_owned(),
            count => format!("Die Liste ist unvollständig: {count} Cluster fehlen."),
        };
        missing_cluster(cluster: &str, reason: &str) = format!("{cluster}: {reason}");
        empty_namespace_advice = "Den Namen des Namespace prüfen. Neue Objekte erscheinen hier automatisch.";
        no_match = "Kein Objekt entspricht dem Filter. Wörter oder Filter entfernen.";
        show_all = "Alle anzeigen";
        more_namespaces(cluster: &str) = format!("Diese Liste ist unvollständig: Projektrollen gelten in weiteren Namespaces von {cluster}. Um einen anderen Namespace auszuwählen, seinen Namen oben eingeben.");
        namespaces(cluster: &str) = format!("Die eigenen Projektrollen in {cluster} gelten für diese Namespaces.");
        choose_namespace = "Namespace auswählen";
        unreachable(cluster: &str, state: &str) = format!("{cluster} ist nicht erreichbar: {state}");
        forbidden(kind: &str, namespace: &str) = format!("Keine Berechtigung zum Auflisten von {kind} in {namespace}");
        forbidden_everywhere(kind: &str, cluster: &str) = format!("Keine Berechtigung zum Auflisten von {kind} in allen Namespaces von {cluster}");
        not_served(cluster: &str, kind: &str) = format!("{cluster} stellt {kind} nicht bereit");
        not_served_advice(plural: &str, version: &str) = format!("Die API des Clusters stellt {plural} in {version} nicht bereit. Eine andere Version von Kubernetes stellt {plural} möglicherweise in einer anderen API-Gruppe bereit.");
        agent_refused(cluster: &str) = format!("{cluster} akzeptiert die Anmeldedaten des Agents nicht");
        agent_refused_advice(cause: &str) = format!("{cause} Der API-Server lehnt das ServiceAccount des Agents ab. Das Log des Agents prüfen.");
        failed(kind: &str) = format!("{kind} können nicht aufgelistet werden");
        choose_namespace_or_ask = "Einen Namespace eingeben, in dem eine Rolle zugewiesen ist, oder einen Administrator um eine Rolle in diesem Cluster bitten.";
        ask_for_role = "Einen Administrator um eine Rolle in diesem Cluster bitten, die diese Anfrage erlaubt.";
        filter_events = "Events filtern";
        filter_events_hint = "Wörter  kind:pod  reason:backoff  -nicht";
        filter_by_type = "Nach Typ filtern";
        warnings = "Warnungen";
        normal = "normal";
        no_events = "Keine aktuellen Events";
        no_events_advice = "Kubernetes speichert Events standardmäßig eine Stunde lang. Neue Events erscheinen hier automatisch.";
        no_match_events = "Kein Event entspricht dem Filter. Wörter oder Filter entfernen.";
        show_all_events = "Alle Events anzeigen";
        show_older(count: &str) = format!("Ältere Events anzeigen ({count})");
        show_newer = "Neuere Events anzeigen";
        older_events(count: usize) = counted(count, "älteres Event", "ältere Events");
        in_namespace(namespace: &str) = format!("in {namespace}");
        warning_prefix = "Warnung: ";
        repeated(count: &str, duration: &str) = format!("×{count} in {duration}");
        first_and_last(first: &LocalTime, last: &LocalTime) = format!("Zuerst: {first}, zuletzt: {last}");
        read_of(loaded: &str, total: &str) = format!("Wird geladen: {loaded} von etwa {total}");
        read_so_far(loaded: &str) = format!("Wird geladen: {loaded}");
    }

    cluster: Cluster {
        show_import = "Importbefehl anzeigen";
        overview = "Übersicht";
        resources = "Ressourcen";
        conditions = "Conditions";
        hosts_hub = "In diesem Cluster läuft auch der Hub von Drover. Die Nodes des Hubs und des Servers von verwalteten Workloads trennen, zum Beispiel durch einen Taint: Ein Workload, der einen solchen Node überlastet oder dort aus seinem Container ausbricht, erreicht alle Cluster.";
        edit_description = "Beschreibung bearbeiten…";
        description_saved(name: &str) = format!("Die Beschreibung von {name} wurde gespeichert.");
        description_help = "Wird neben dem Namen des Clusters angezeigt. Optional.";
        kubeconfig = "Kubeconfig";
        credential_exec = "Befehl „drover credential“ (die Datei enthält kein Geheimnis)";
        credential_token = "Token für diesen Cluster (die Datei enthält das Token)";
        credential_direct = "Token mit direktem Zugriff auf die API-Server (die Datei enthält das Token)";
        cannot_download = "Der Browser kann keine Dateien speichern. Den Befehl ausführen, den die Seite anzeigt.";
        credential = "Anmeldedaten";
        delete_title = "Cluster löschen?";
        deleting(name: &str) = format!("{name} wird gelöscht.");
        delete_effect() -> Rich = Rich::from("Drover entfernt seinen Agent und seine Rollen aus dem Cluster. Benutzer verlieren den Zugriff über Drover. Tokens, die auf diesen Cluster beschränkt sind, werden widerrufen. ")
            + strong("Workloads im Cluster laufen weiter.");
        connected = "verbunden";
        nodes_ready(ready: u32, total: u32) = format!("{ready} von {total} bereit");
        pods(pods: f64, capacity: f64) = format!("{pods}, Kapazität {capacity}");
        pod_capacity(capacity: f64) = format!("Kapazität {capacity}");
        agent(version: &str, protocol: &str, tunnels: u32) = format!("{version}, Protokoll {protocol}, {tunnels}", tunnels = counted(tunnels as usize, "Tunnel", "Tunnel"));
        cluster_agent = "Agent";
        node_agent(node: &str) = format!("Node-Agent auf {node}");
        connection(agent: &str, time: &str, reason: &str) = format!("{agent}, seit {time} ({reason})");
        switch(agent: &str, time: &str, reason: &str) = format!("vor {time}: {agent} ({reason})");
        key_bound(time: &str) = format!("gebunden vor {time}");
        rotate_keys_menu = "Schlüssel rotieren…";
        rotate_keys_title = "Schlüssel der Agents rotieren?";
        rotate_keys_effect = "Ersetzt die Schlüssel des Agents und der Node-Agents. Offene Datenströme laufen weiter.";
        rotate_keys = "Schlüssel rotieren";
        keys_requested(name: &str) = format!("Neue Schlüssel für die Agents von {name} wurden angefordert.");
        node_agent_not_registered(node: &str) = format!("{node} (nicht registriert)");
        switches = "Wechsel zwischen Agents";
        usage_unknown(total: &str) = format!("{total}, Verbrauch unbekannt");
        requests_unknown(total: &str) = format!("{total}, Requests unbekannt");
        unhealthy = "fehlerhaft";
        components = "Komponenten";
        kubelet = "Kubelet";
        node_agent_version = "Node-Agent";
        problems = "Probleme";
        some_nodes(shown: usize, total: u32) = format!("{shown} von {total} Nodes werden aufgelistet: zuerst Control-Plane-Nodes, dann Nodes mit Problemen.");
        not_found(name: &str) = format!("Cluster {name} nicht gefunden");
        not_found_advice = "Der Cluster existiert nicht, oder in ihm ist keine Rolle zugewiesen.";
        navigation = "Cluster";
        workloads = "Workloads";
        check_access = "Zugriff auf diesen Cluster prüfen";
    }

    endpoint: Endpoint {
        title = "Autorisierter Endpunkt";
        purpose = "Direkter Zugriff: Benutzer senden Anfragen an die API-Server des Clusters, ohne den Server von Drover.";
        disabled = "deaktiviert";
        disabled_help = "Die API-Server akzeptieren keine Tokens von Drover. Den Endpunkt aktivieren, um direkten Zugriff zu erlauben.";
        load_balancer = "Load-Balancer";
        offline_limit = "Offline-Grenze";
        api_servers = "API-Server";
        no_api_servers = "Noch keine API-Server. Node-Agents auf Control-Plane-Nodes melden ihren API-Server.";
        calls_webhook = "Ruft den Webhook auf";
        failed = "Der autorisierte Endpunkt kann nicht gelesen werden.";
        enable = "Aktivieren";
        enable_effect = "Der Server schreibt Hashes der Tokens, die auf diesen Cluster beschränkt sind, in den Cluster. Nach diesem Schritt die API-Server einrichten.";
        enabled(name: &str) = format!("Der autorisierte Endpunkt von {name} wurde aktiviert. Die API-Server einrichten.");
        saved(name: &str) = format!("Der autorisierte Endpunkt von {name} wurde gespeichert.");
        load_balancer_help = "Hostname, optional mit Port. Leer: Kubeconfigs enthalten jeden Control-Plane-Node.";
        ca_bundle_help = "PEM. Zertifizierungsstellen des Load-Balancers. Leer: Zertifizierungsstelle des Clusters.";
        offline_help = "So lange akzeptiert der Cluster die Tokens, während er nicht verbunden ist. 5m bis 30d. Leer: 1d.";
        offline_range = "Mindestens 5m, höchstens 30d.";
        disable_title = "Autorisierten Endpunkt deaktivieren?";
        disable = "Deaktivieren";
        disable_effect = "Der Server entfernt die Tokens aus dem Cluster. Die API-Server lehnen direkte Anfragen ab, sobald ihr Cache abgelaufen ist. Wenn der Cluster nicht verbunden ist, akzeptieren die API-Server die Tokens bis zur nächsten Verbindung, spätestens bis zum Ende der Offline-Grenze. Anfragen über den Server funktionieren weiterhin.";
        disabled_endpoint(name: &str) = format!("Der autorisierte Endpunkt von {name} wurde deaktiviert.");
        set_up_menu = "Einrichten…";
        set_up_title = "API-Server einrichten";
        set_up_help = "Diese Schritte auf jedem Control-Plane-Node ausführen, einen Node nach dem anderen.";
        managed_services = "Verwaltete Kubernetes-Dienste wie EKS, GKE und AKS unterstützen den autorisierten Endpunkt nicht. Der Anbieter erlaubt keine Flags des API-Servers.";
        no_webhook_config = "Der Server hat die Tokens noch nicht in den Cluster geschrieben. Danach erscheinen hier die Schritte.";
        distribution = "Distribution";
        write_webhook = "Konfiguration des Webhooks schreiben";
        write_webhook_help(file: &str) -> Rich = Rich::from("Der Befehl schreibt die Datei ") + code(file.to_owned()) + ". Die Datei enthält kein Geheimnis.";
        add_flags = "Flags des API-Servers hinzufügen";
        add_flags_help(file: &str) -> Rich = Rich::from("Diese Zeilen zum Befehl in ") + code(file.to_owned())
            + " hinzufügen. Danach startet das Kubelet den API-Server neu. Die Flags auch zu " + code("apiServer.extraArgs")
            + " in der ConfigMap " + code("kubeadm-config") + " hinzufügen, damit " + code("kubeadm upgrade") + " die Flags beibehält.";
        set_flags = "Flags des API-Servers setzen";
        set_flags_help(file: &str) -> Rich = Rich::from("Der Befehl schreibt die Datei ") + code(file.to_owned()) + ".";
        restart = "API-Server neu starten";
        restart_help = "Der API-Server liest die Flags beim Start.";
        checks = "Node-Agents prüfen jeden API-Server alle 15 Sekunden. Diese Seite wird automatisch aktualisiert.";
    }

    cluster_labels: ClusterLabels {
        labels = "Labels bearbeiten…";
        labels_title = "Labels";
        selected(count: usize) = format!("{count} Cluster ausgewählt.");
        set = "Setzen";
        set_help = "Beispiel: env=prod team=shop. Vorhandene Labels erhalten den neuen Wert.";
        none_removable = "Die ausgewählten Cluster haben keine Labels, die entfernt werden können.";
        empty_value = "leer";
        value_on(value: &str, count: usize) = format!("{value} auf {clusters}", clusters = clusters(count));
        all_help = "Beispiel: env=prod team=shop. Labels, die dieses Feld nicht enthält, werden entfernt.";
        changed(count: usize) = format!("Die Labels von {clusters} wurden geändert.", clusters = clusters(count));
        no_changes = "Keine Änderungen";
        change(count: usize) = format!("{count} Cluster ändern");
        plan = "Geplante Änderungen";
        kubectl_context() -> Rich = Rich::from("Vor dem Ausführen des Befehls den Kontext des Hubs zur Kubeconfig hinzufügen: ") + code("drover cluster kubeconfig local --merge");
        not_key_value(text: &str) = format!("„{text}“ hat nicht die Form Schlüssel=Wert.");
        reserved(text: &str) = format!("„{text}“ ist für Drover reserviert. Ein anderes Präfix verwenden.");
        duplicate(text: &str) = format!("Doppelter Schlüssel „{text}“.");
        no_name(text: &str) = format!("„{text}“ hat keinen Namen nach dem Präfix.");
        bad_prefix(key: &str, prefix: &str) = format!("Das Präfix „{prefix}“ von „{key}“ muss eine Domain wie example.com sein.");
        key_too_long(key: &str, limit: usize) = format!("Der Schlüssel „{key}“ ist zu lang: höchstens {limit} Zeichen ohne das Präfix.");
        bad_key(key: &str) = format!("Der Schlüssel „{key}“ ist ungültig: Buchstaben, Ziffern, „-“, „_“ und „.“ verwenden, mit einem Buchstaben oder einer Ziffer an beiden Enden.");
        value_too_long(key: &str, limit: usize) = format!("Der Wert von „{key}“ ist zu lang: höchstens {limit} Zeichen.");
        bad_value(key: &str, value: &str) = format!("Der Wert „{value}“ von „{key}“ ist ungültig: Buchstaben, Ziffern, „-“, „_“ und „.“ verwenden, mit einem Buchstaben oder einer Ziffer an beiden Enden.");
        set_and_removed(key: &str) = format!("Der Dialog setzt und entfernt das Label „{key}“. Einen der Einträge entfernen.");
        already_set(label: &str, count: usize) = format!("{label} ist bereits auf {clusters} gesetzt", clusters = clusters(count));
        changes(label: &str, count: usize, previous_values: &str) = format!("ändert das Label auf {clusters} zu {label} ({previous_values})", clusters = clusters(count));
        sets(label: &str, count: usize) = format!("setzt {label} auf {clusters}", clusters = clusters(count));
        sets_and_changes(label: &str, new: usize, changed: usize, previous_values: &str) = format!("setzt {label} auf {clusters}, ändert das Label auf {changed} ({previous_values})", clusters = clusters(new));
        and_already_set(count: usize) = format!("; bereits auf {count} gesetzt");
        not_present(key: &str) = format!("kein ausgewählter Cluster hat das Label {key}");
        removes(key: &str, count: usize, previous_values: &str) = format!("entfernt {key} von {clusters} ({previous_values})", clusters = clusters(count));
        and_without(count: usize) = format!("; {count} ohne dieses Label");
        before(values: &str) = format!("vorher: {values}");
    }

    import: Import {
        forbidden = "Keine Berechtigung zum Importieren von Clustern";
        purpose(cluster: &str) = format!("Der Importbefehl verbindet den Cluster {cluster} mit diesem Server.");
        new_token = "Jeder Befehl hat ein eigenes Token. Die Tokens früherer Befehle bleiben bis zu ihrem Ablauf gültig.";
        create_command = "Befehl erstellen";
        name_help = "Kleinbuchstaben, Ziffern und „-“. Der Name kann nicht geändert werden.";
        labels_help = "Beispiel: env=prod team=shop. Optional.";
        next = "Cluster erstellen und Befehl anzeigen";
        run_command = "Diesen Befehl mit einer Kubeconfig des Clusters ausführen";
        download = "Manifest herunterladen";
        token_note(expires: &LocalTime) = format!("Der Befehl und das Manifest enthalten ein Token. Das Token registriert diesen Cluster einmal, läuft am {expires} ab und wird nicht erneut angezeigt.");
        ready = "Der Cluster ist verbunden.";
        waiting = "Warten auf den Agent. Wird automatisch aktualisiert.";
        incomplete = "Der Agent ist registriert, aber der Cluster ist nicht bereit:";
        deleting = "Der Cluster wird gelöscht.";
        status = "Status";
        open_cluster = "Cluster öffnen";
    }
}
