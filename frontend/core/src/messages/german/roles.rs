//! Messages of the screens of roles and their rules.

use crate::messages::{counted, translation};

translation! { German;
    roles: Roles {
        bindings = "Zuweisungen";
        delete_title(role: &str) = format!("Rolle {role} löschen?");
        deleted(role: &str) = format!("Die Rolle {role} wurde gelöscht.");
        global_roles = "Globale Rollen";
        global_members_help = "Eine globale Rolle gilt für den Hub und alle Cluster. Administratoren ohne globale Rolle werden nicht aufgelistet.";
        all_roles = "Alle Rollen";
        actions = "Aktionen der Rolle";
        create = "Rolle erstellen";
        create_global = "Globale Rolle erstellen";
        empty = "Keine Rollen";
        empty_advice = "Der Server erstellt die integrierten Rollen innerhalb von Sekunden. Die Liste wird automatisch aktualisiert.";
        not_found(name: &str) = format!("Rolle {name} nicht gefunden");
        forbidden = "Keine Berechtigung zum Lesen dieser Rolle";
        failed = "Die Rolle kann nicht gelesen werden";
        no_rules = "Keine Regeln.";
        rules_of(scope: &str) = format!("Regeln: {scope}");
        api_groups = "API-Gruppen";
        resources_or_paths = "Ressourcen oder Pfade";
        other_verbs = "Andere Verben";
        names = "Namen";
        add_rule = "Regel hinzufügen";
        add_paths = "Pfadregel hinzufügen";
        merge_rules = "Regeln zusammenfassen";
        paths = "Pfade";
        remove_rule(rule: &str) = format!("Regel {rule} entfernen");
        verb(verb: &str, rule: &str) = format!("{verb}: {rule}");
        implied_verb(verb: &str, rule: &str) = format!("{verb}, in * enthalten: {rule}");
        field_of_rule(field: &str, rule: &str) = format!("{field}: {rule}");
        conflict = "Konflikt bei der Bearbeitung";
        conflict_help = "Ein anderer Benutzer hat diese Rolle geändert. Die eigenen Änderungen werden angezeigt, sind aber nicht gespeichert.";
        field = "Feld";
        before = "Vor der Bearbeitung";
        now = "Jetzt";
        overwrite = "Mit eigenen Änderungen überschreiben";
        discard_mine = "Eigene Änderungen verwerfen, neuere Version laden";
        in_clusters = "Cluster";
        in_projects = "Projekte";
        rules_moved(count: usize) = match count {
            1 => "Eine Rolle für Cluster hat keine getrennten Regeln für den Cluster des Projekts. Deshalb wurde eine Regel verschoben. „Projekte“ auswählen, um die Regel wiederherzustellen.".to_owned(),
            count => format!("Eine Rolle für Cluster hat keine getrennten Regeln für den Cluster des Projekts. Deshalb wurden {count} Regeln verschoben. „Projekte“ auswählen, um die Regeln wiederherzustellen."),
        };
        created(role: &str) = format!("Die Rolle {role} wurde erstellt.");
        built_in_help = "Integrierte Rollen können nicht geändert werden. Diese Rolle kopieren, oder eine Rolle erstellen, die von dieser Rolle erbt.";
        inherited_by = "Geerbt von";
        saved(role: &str) = format!("Die Rolle {role} wurde gespeichert.");
        unsaved_changes = "Nicht gespeicherte Änderungen";
        discard_title = "Änderungen verwerfen?";
        discard_effect = "Die gespeicherte Rolle wird geladen. Verworfene Änderungen können nicht wiederhergestellt werden.";
        effective_rules = "Effektive Berechtigungen, einschließlich geerbter Rollen";
        yaml_help = "Die Spezifikation (spec) der Rolle. Kommentare werden gelöscht, wenn ein Feld außerhalb des YAML bearbeitet wird.";
        yaml = "YAML";
        yaml_error(line: usize, message: &str) = format!("Zeile {line}: {message}");
        rules = "Regeln";
        views = "Rolleneditor";
        yaml_invalid = "Das YAML ist ungültig. Die Felder zeigen die letzte gültige Version. Das YAML korrigieren, um die Felder zu bearbeiten.";
        hub_namespaces = "Die Rolle hat auch Regeln für einzelne Namespaces des Hubs. Nur das YAML zeigt diese Regeln.";
        cluster_roles = "ClusterRoles des Clusters, zum Beispiel view";
        inherits = "Geerbte Rollen";
        granted_everywhere = "In allen Clustern zugewiesene Rollen";
        no_roles = "Keine Rollen.";
        roles_missing = "Die Rollen können nicht gelesen werden. Rollen können hinzugefügt werden, sobald die Liste der Rollen geladen ist.";
        add_role = "Rolle hinzufügen";
        remove_role(name: &str) = format!("{name} entfernen");
        everywhere = "Alle Cluster";
        locked = "gesperrt";
        built_in = "integriert";
        custom = "benutzerdefiniert";
        delete_effect(bindings: Option<u32>) = match bindings {
            None => "Benutzer mit dieser Rolle verlieren die Berechtigungen der Rolle innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen.".to_owned(),
            Some(0) => "Keine Zuweisung verwendet diese Rolle.".to_owned(),
            Some(1) => "1 Zuweisung verwendet diese Rolle. Benutzer verlieren die Berechtigungen der Rolle innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen.".to_owned(),
            Some(count) => format!("{count} Zuweisungen verwenden diese Rolle. Benutzer verlieren die Berechtigungen der Rolle innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen."),
        };
        on_hub = "Hub";
        in_whole_cluster = "Cluster";
        in_project_namespaces = "Namespaces des Projekts";
        in_project_cluster = "Cluster des Projekts";
        in_cluster = "Cluster";
        in_every_cluster = "Alle Cluster";
        locked_help = "Gesperrt: Die Rolle kann nicht zugewiesen werden";
        new_user_default = "Diese Rolle neuen Benutzern bei der ersten Anmeldung zuweisen";
        page_outdated(field: &str) = format!("Der Server ist neuer als diese Seite. Beim Speichern ginge das unbekannte Feld {field} verloren. Die Seite neu laden, um diese Rolle zu bearbeiten oder zu kopieren.");
        external(name: &str) = format!("alle Regeln der ClusterRole {name} im Cluster");
        named(names: &str) = format!(" mit dem Namen {names}");
        unknown_field(path: &str) = format!("unbekanntes Feld {path}");
        empty_rule = "leere Regel";
        inherit = "Abgeleitete Rolle erstellen";
        inherited_help(roles: &str) = format!("Diese Rolle kann nicht gelöscht werden, solange andere Rollen von ihr erben: {roles}.");
        binding_count(count: u32) = counted(count as usize, "Zuweisung", "Zuweisungen");
    }
}
