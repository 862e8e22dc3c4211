//! Messages of the access check, of members and permissions, and of projects.

use crate::messages::{Rich, strong, translation};
use drover_api::kinds::PodSecurity;

translation! { German;
    access: Access {
        why = "Warum fehlt mir diese Berechtigung?";
        title = "Zugriff prüfen";
        verb = "Verb";
        verb_help = "Beispiel: get, list, create, delete.";
        resource_help = "Wie in kubectl: pods, po, pods/log, deployments.apps, oder ein Pfad wie /metrics.";
        object = "Objekt";
        object_help = "Name des Objekts. Leer: alle Objekte.";
        namespace_help = "Leer: alle Namespaces und Objekte ohne Namespace.";
        user_help(wildcard: &str) = format!("Benutzername. Leer: der eigene Benutzer. {wildcard}: alle Benutzer.");
        check = "Zugriff prüfen";
        binding = "Zuweisung";
        denied_user = "Keine Rolle dieses Benutzers in diesem Cluster erlaubt diese Anfrage. Ein Eigentümer des Clusters oder ein Administrator kann eine Rolle zuweisen.";
        denied = "Keine in diesem Cluster zugewiesene Rolle erlaubt diese Anfrage.";
        more = "Die Liste ist unvollständig. Sie enthält nur die ersten 500 Zuweisungen.";
        bindings = "Zuweisungen";
        user_denied(user: &str) = format!("{user} darf diese Anfrage nicht senden");
        user_unknown(user: &str) = format!("{user} darf diese Anfrage möglicherweise senden");
        user_allowed(user: &str) = format!("{user} darf diese Anfrage senden");
        all_denied = "Kein Benutzer darf diese Anfrage senden";
        all_unknown = "Einige Benutzer dürfen diese Anfrage möglicherweise senden";
        all_allowed = "Benutzer, die diese Anfrage senden dürfen";
        resource_name(name: &str) = format!("Ressource: {name}");
        resource_unresolved(name: &str, cause: &str) = format!("Ressource: {name} (in Kubernetes integriert). Die Ressourcen des Clusters können nicht gelesen werden: {cause}.");
        bindings_unknown(cause: &str) = format!("Die RoleBindings des Clusters können nicht gelesen werden: {cause}.");
        own_rule = "Regel dieser Rolle";
        cluster_role(name: &str) = format!("ClusterRole {name} von Kubernetes");
        unknown_cluster_role(name: &str) = format!("unbekannt; hängt von der ClusterRole {name} im Cluster ab");
    }

    members: Members {
        grant = "Rolle zuweisen";
        roles_missing = "Die Rollen können nicht gelesen werden. Rollen können zugewiesen und entzogen werden, sobald die Liste der Rollen geladen ist.";
        empty = "Keine Mitglieder";
        empty_advice = "Benutzer und Gruppen erscheinen hier, sobald ihnen eine Rolle zugewiesen ist. Administratoren und Mitglieder aller Cluster haben Zugriff ohne einen Eintrag in dieser Liste.";
        membership(role: &str, subject: &str) = format!("{role} von {subject}");
        granted = "Zugewiesen";
        remove(membership: &str) = format!("{membership} entziehen");
        grant_in_cluster(name: &str) = format!("Rolle im Cluster {name} zuweisen");
        grant_in_project(name: &str) = format!("Rolle im Projekt {name} zuweisen");
        grant_everywhere = "Globale Rolle zuweisen";
        granted_to(subject: &str) = format!("Die Rolle wurde {subject} zugewiesen.");
        grant_limit = "Nur eigene Berechtigungen können zugewiesen werden.";
        show_role = "Berechtigungen dieser Rolle anzeigen";
        remove_effect_in_cluster(subject: &str, name: &str) = format!("{subject} verliert die Berechtigungen dieser Rolle im Cluster {name} innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen. Andere Rollen von {subject} bleiben.");
        remove_effect_in_project(subject: &str, name: &str) = format!("{subject} verliert die Berechtigungen dieser Rolle im Projekt {name} innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen. Andere Rollen von {subject} bleiben.");
        remove_effect_everywhere(subject: &str) = format!("{subject} verliert die Berechtigungen dieser Rolle im Hub und in allen Clustern innerhalb von Sekunden. Offene Watches, Logs und Shells, die diese Berechtigungen benötigen, werden geschlossen. Andere Rollen von {subject} bleiben.");
        removed(subject: &str) = format!("Die Rolle wurde {subject} entzogen.");
        remove_title(role: &str, subject: &str) = format!("{role} von {subject} entziehen?");
        remove_role = "Rolle entziehen";
        subject_help = "Benutzername, oder Gruppenname in der Form drover:<provider>:<id>.";
        choose_user = "Einen der Benutzer mit diesem Namen auswählen.";
        searching_users = "Benutzer mit diesem Namen werden gesucht…";
        search_failed(cause: &str) = format!("Die Suche nach Benutzern mit diesem Namen ist fehlgeschlagen. {cause}");
        user_found(user: &str, count: usize) = match count {
            0 => format!("{user}."),
            1 => format!("{user}. Ein weiterer Benutzer hat diesen Namen."),
            count => format!("{user}. {count} weitere Benutzer haben diesen Namen."),
        };
        users_found(count: usize) = match count {
            0 => "Kein Benutzer hat diesen Namen. Drover erstellt einen Benutzer eines Identitätsanbieters bei der ersten Anmeldung.".to_owned(),
            1 => "Kein Benutzer hat diesen Benutzernamen, aber ein Benutzer hat diesen Login-Namen. Den Benutzer auswählen.".to_owned(),
            count => format!("{count} Benutzer haben diesen Namen. Einen Benutzer auswählen."),
        };
        local_password = "lokales Passwort";
        with_local_password(user: &str) = format!("{user}, lokales Passwort");
        group_members = "alle Mitglieder dieser Gruppe";
    }

    projects: Projects {
        create = "Projekt erstellen";
        empty = "Noch keine Projekte";
        empty_for_user = "Keine Projekte mit einer eigenen Rolle";
        empty_advice = "Ein Projekt ist eine Menge von Namespaces mit Mitgliedern und Quotas. Hier ein Projekt erstellen oder einen Administrator um eine Rolle in einem Projekt bitten.";
        namespaces_ready(ready: usize, total: usize) = format!("{ready} von {total}");
        delete_title(name: &str) = format!("Projekt {name} löschen?");
        deleting(name: &str) = format!("Das Projekt {name} wird gelöscht.");
        delete_effect() -> Rich = Rich::from("Mitglieder verlieren die Berechtigungen ihrer Rollen in diesem Projekt. Die Quotas des Projekts werden entfernt. ")
            + strong("Die Namespaces und ihre Workloads bleiben im Cluster") + ", ohne Projekt.";
        pod_security_level(level: PodSecurity) -> &'static str = match level {
            PodSecurity::Privileged => "Privileged: keine Einschränkungen",
            PodSecurity::Baseline => "Baseline: verhindert bekannte Rechteausweitungen",
            PodSecurity::Restricted => "Restricted: nur gehärtete Pods",
        };
        created(name: &str) = format!("Das Projekt {name} wurde erstellt.");
        cluster_help = "Der Cluster der Namespaces des Projekts. Der Cluster kann nicht geändert werden.";
        pod_security_unset = "Standard des Clusters";
        display_name_help = "Wird anstelle des Namens angezeigt. Optional.";
        description_help = "Zweck des Projekts. Optional.";
        created_namespaces = "Zu erstellende Namespaces";
        created_namespaces_help = "Einer pro Zeile. Aus dem Projekt entfernte Namespaces bleiben im Cluster.";
        adopted_namespaces = "Zu übernehmende Namespaces";
        adopted_namespaces_help = "Vorhandene Namespaces, einer pro Zeile.";
        quota = "Quota";
        project_total = "Gesamtes Projekt";
        per_namespace = "Pro Namespace";
        defaults = "Standardwerte für Requests und Limits";
        request = "Request";
        limit = "Limit";
        pod_security = "Pod-Sicherheit";
        edit_title = "Projekt bearbeiten";
        saved(name: &str) = format!("Das Projekt {name} wurde gespeichert.");
        conflict = "Ein anderer Benutzer hat das Projekt geändert. Die eigenen Änderungen sind nicht gespeichert. Das Formular enthält jetzt die eigenen Änderungen und die Änderungen des anderen Benutzers. Das Formular prüfen und erneut speichern.";
        not_found(name: &str) = format!("Projekt {name} nicht gefunden");
        not_found_advice = "Das Projekt existiert nicht, oder in ihm ist keine Rolle zugewiesen.";
        no_namespaces = "Keine Namespaces. Das Projekt bearbeiten, um einen Namespace hinzuzufügen.";
        resource_help = "Name der Ressource wie in einer ResourceQuota, zum Beispiel services.";
        resource_pending = "Vor dem Speichern die Ressource hinzufügen oder dieses Feld leeren.";
        resource_duplicate = "Doppelt; dieses Feld leeren.";
        add_resource = "Weitere Ressource";
        amount_of(resource: &str, amount: &str) = format!("{resource}: {amount}");
        own_namespace = "bereit";
        pending_namespace = "ausstehend";
        leaving_namespace = "wird entfernt";
        quantity_help = "Beispiel: 500m, 2, 512Mi, 10Gi.";
        part_namespace(name: &str) = format!("Namespace {name}");
        part_quota(name: &str) = format!("Quota von {name}, gesamtes Projekt");
        part_namespace_quota(name: &str) = format!("Quota von {name}, pro Namespace");
        part_request(name: &str) = format!("Standardwert des Requests für {name}");
        part_limit(name: &str) = format!("Standardwert des Limits für {name}");
        part_changed(field: &str, new_value: &str, old_value: &str) = format!("{field}: {new_value}, vorher: {old_value}");
        part_set(field: &str, new_value: &str) = format!("{field}: {new_value}");
        part_removed(field: &str) = format!("{field}: entfernt");
        part_yours(value: Option<&str>) = format!("; eigener Wert: {value}", value = value.unwrap_or("entfernt"));
        adopted = "übernommen";
        to_create = "erstellt";
    }

    rights: Rights {
        import_clusters = "Erforderliche Berechtigung: Cluster erstellen (globale Rolle Import Clusters)";
        update_cluster = "Erforderliche Berechtigung: diesen Cluster ändern (Rolle Cluster Owner)";
        update_clusters = "Erforderliche Berechtigung: Cluster im Hub ändern (globale Rolle Administrator)";
        delete_cluster = "Erforderliche Berechtigung: Cluster löschen (Rolle Cluster Owner)";
        list_users = "Erforderliche Berechtigung: Benutzer auflisten (globale Rolle Manage Users)";
        create_users = "Erforderliche Berechtigung: Benutzer erstellen (globale Rolle Manage Users)";
        update_user = "Erforderliche Berechtigung: Benutzer ändern (globale Rolle Manage Users). Nur Administratoren können Administratoren ändern";
        set_password = "Erforderliche Berechtigung: Benutzer ändern (globale Rolle Manage Users), und alle Berechtigungen dieses Benutzers";
        delete_user = "Erforderliche Berechtigung: Benutzer löschen (globale Rolle Manage Users). Nur Administratoren können Administratoren löschen";
        list_providers = "Erforderliche Berechtigung: authproviders auflisten (globale Rolle Viewer)";
        list_settings = "Erforderliche Berechtigung: settings auflisten (globale Rolle Viewer)";
        update_settings = "Erforderliche Berechtigung: settings ändern (globale Rolle Administrator)";
        administer = "Erforderlich: globale Rolle Administrator";
    }
}
