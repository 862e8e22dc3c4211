//! Messages of the keys of lists.

use crate::messages::translation;

translation! { German;
    keys: Keys {
        title = "Tastenkürzel";
        menu = "Tastenkürzel…";
        scope = "Die Tasten gelten in Listen von Kubernetes-Objekten, wenn kein Textfeld, Menü oder Dialog den Fokus hat.";
        single = "Tasten mit einem Zeichen";
        single_help = "Bei Sprachsteuerung oder Screenreadern mit eigenen Tasten ausschalten.";
        keys = "Tasten";
        action = "Aktion";
        space = "Leertaste";
        down = "Nächste Zeile";
        up = "Vorherige Zeile";
        first = "Erste Zeile";
        last = "Letzte Zeile";
        open = "Objekt öffnen";
        filter = "Filter fokussieren";
        select = "Zeile auswählen";
        clear = "Auswahl aufheben";
        describe = "Übersicht öffnen";
        yaml = "YAML öffnen";
        logs = "Logs öffnen";
        shell = "Terminal öffnen";
        edit = "YAML bearbeiten";
        delete = "Ausgewählte Objekte löschen, oder das Objekt der Zeile";
        restart = "Ausgewählte Workloads neu starten, oder den Workload der Zeile";
        palette = "Befehlspalette öffnen";
        help = "Alle Tasten anzeigen";
    }
}
