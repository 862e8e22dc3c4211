//! Messages of terminals.

use crate::messages::translation;

translation! { German;
    several_logs: SeveralLogs {
        title = "Logs mehrerer Cluster";
        action = "Logs anzeigen";
        no_selection = "Keine Pods ausgewählt";
        no_selection_advice = "Cluster und Labels eingeben, oder in einer Liste Pods oder Workloads auswählen und „Logs anzeigen“ drücken.";
        clusters = "Cluster";
        clusters_help = "Namen von Clustern, durch Kommas getrennt.";
        selector = "Label-Selektor";
        selector_help = "Zum Beispiel app=web,tier!=test. Das Log enthält auch neue Pods.";
        show = "Logs anzeigen";
        target_without_pods = "keine Pods gefunden.";
        too_many(limit: usize) = format!("Die ausgewählten Pods haben mehr als {limit} Container. Das Log zeigt {limit} Container: weniger Pods oder einen Container wählen.");
        too_many_selected(limit: usize) = format!("Für ein Log höchstens {limit} Objekte auswählen.");
        failed(count: usize) = format!("und {count} weitere");
    }

    terminal: Terminal {
        terminals = "Terminals";
        terminal = "Terminal";
        shell = "Shell (bash oder sh)";
        attach = "Mit dem ersten Prozess verbinden";
        custom = "Befehl";
        program = "Programm";
        custom_help = "Eine Shell führt den Befehl aus: /bin/sh -c BEFEHL.";
        open = "Terminal öffnen";
        open_node = "Node-Shell öffnen";
        no_containers = "Kein laufender Container";
        no_containers_advice = "Ein Terminal benötigt einen laufenden Container. Die Events des Pods prüfen.";
        no_exec = "Erforderliche Berechtigung: create pods/exec in diesem Namespace";
        no_attach = "Erforderliche Berechtigung: create pods/attach in diesem Namespace";
        pod_changed(pod: &str) = format!("Ein anderer Benutzer hat den Pod {pod} geändert oder ersetzt.");
        no_node_shell = "Erforderliche Berechtigungen: create pods und pods/attach in diesem Namespace";
        image = "Image";
        image_help = "Das Image muss /bin/sh enthalten.";
        node_help = "Drover erstellt einen Pod mit dem Netzwerk, den Prozessen und den Dateien (in /host) des Nodes. Der Pod wird beim Schließen des Terminals gelöscht.";
        starting(reason: &str) = format!("Der Pod wird gestartet. {reason}");
        not_started(reason: &str) = format!("Der Pod wurde nicht gestartet: {reason}");
        too_slow = "Der Container ist nicht innerhalb von zwei Minuten gestartet";
        not_deleted(pod: &str, cause: &str) = format!("Der Pod {pod} kann nicht gelöscht werden: {cause} Den Pod mit kubectl löschen.");
        connecting = "Verbindung wird hergestellt";
        connected = "Verbunden";
        lost = "Verbindung verloren. Die Verbindung wird wiederhergestellt; das Terminal läuft weiter.";
        discarded = "Der Container hat die Eingabe nicht gelesen. Ein Teil der Eingabe wurde verworfen.";
        replaced = "Ein anderes Fenster hat dieses Terminal übernommen.";
        gone = "Das Terminal existiert nicht mehr. Der Server wurde neu gestartet, oder zwei Minuten lang war kein Browser verbunden.";
        signed_out = "Die Sitzung ist beendet. Erneut anmelden.";
        no_module = "Die Seite konnte das Terminal nicht laden. Die Seite neu laden.";
        ended(reason: &str) = format!("Geschlossen: {reason}");
        close(title: &str) = format!("Terminal {title} schließen");
        minimize = "Minimieren";
        restore = "Terminals anzeigen";
        larger_sign = "A+";
        smaller_sign = "A−";
        larger = "Größerer Text";
        smaller = "Kleinerer Text";
        find = "Im Terminal suchen";
    }

    kubectl_shell: KubectlShell {
        menu = "kubectl-Shell…";
        title(cluster: &str) = format!("kubectl-Shell in {cluster}");
        help = "Drover erstellt einen Pod mit kubectl im Cluster, und ein Token mit den Berechtigungen des angemeldeten Benutzers in diesem Cluster. Beide enden beim Schließen des Terminals, und nach 4 Stunden.";
        warning = "Benutzer, die in diesem Namespace Pods ändern oder in Pods Befehle ausführen dürfen, können die Berechtigungen des angemeldeten Benutzers bis zum Schließen der Shell benutzen. Einen Namespace wählen, den niemand sonst benutzen kann.";
        image_help = "Das Image muss kubectl und sh enthalten, und der Cluster muss das Image herunterladen können.";
        missing = "Erforderliche Berechtigungen: get, create und delete pods, und get und create pods/exec in diesem Namespace";
        open = "kubectl-Shell öffnen";
        no_kubeconfig = "Die Antwort enthält keine Kubeconfig.";
        not_written(cause: &str) = format!("Die Kubeconfig kann nicht in den Pod geschrieben werden: {cause}");
        not_revoked(cause: &str) = format!("Das Token der kubectl-Shell kann nicht widerrufen werden: {cause} Das Token auf der Seite „Tokens“ löschen.");
        cancelled = "Die kubectl-Shell wurde abgebrochen.";
    }
}
