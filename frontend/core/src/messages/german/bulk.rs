//! Messages of actions on several objects.

use crate::messages::{counted, translation};

translation! { German;
    bulk: Bulk {
        title(verb: &str, count: usize, kind: &str) = format!("{count} {kind}: {verb}");
        verb(verb: &str, count: usize) = format!("{verb} ({count})");
        select_matching(count: &str) = format!("Alle {count} Treffer auswählen");
        select_first(limit: usize, count: &str) = format!("Die ersten {limit} von {count} Treffern auswählen");
        selecting = "Auswahl läuft…";
        too_many(limit: usize) = format!("Höchstens {limit} Objekte auswählen");
        reading = "Die ausgewählten Objekte werden gelesen…";
        not_available = "Das Objekt unterstützt diese Aktion in seinem aktuellen Zustand nicht.";
        unchanged = "Keine Änderung: Das Objekt hat diesen Zustand bereits.";
        plan = "Geplante Anfragen";
        plan_summary(sent: usize, all: usize) = format!("Geändert werden {sent} von {objects}.", objects = counted(all, "Objekt", "Objekten"));
        object = "Objekt";
        request = "Anfrage";
        result = "Ergebnis";
        waiting = "nicht begonnen";
        done = "abgeschlossen";
        failed = "fehlgeschlagen";
        cancelled = "abgebrochen";
        commands = "Befehle";
        set_labels = "Labels setzen";
        remove_labels = "Labels entfernen";
        remove_labels_help = "Schlüssel, zum Beispiel: env team";
        cancel = "Verbleibende abbrechen";
        finished(verb: &str, count: usize) = format!("{verb}: {objects} abgeschlossen.", objects = counted(count, "Objekt", "Objekte"));
        undone(count: usize) = format!("Der vorherige Zustand von {objects} wurde wiederhergestellt.", objects = counted(count, "Objekt", "Objekten"));
        cannot_undo(count: usize, message: &str) = format!("Die Änderung von {objects} kann nicht rückgängig gemacht werden: {message}", objects = counted(count, "Objekt", "Objekten"));
    }
}
