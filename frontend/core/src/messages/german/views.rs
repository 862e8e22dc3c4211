//! Messages of saved views.

use crate::messages::translation;

translation! { German;
    views: Views {
        menu = "Ansichten";
        menu_help = "speichern und öffnen";
        save_menu = "Diese Ansicht speichern…";
        save_title = "Ansicht speichern";
        manage_menu = "Ansichten verwalten…";
        manage_title = "Gespeicherte Ansichten";
        manage_help = "Eine Ansicht öffnet eine Seite mit ihren Filtern und ihrer Sortierung.";
        empty = "Keine gespeicherten Ansichten. Eine Liste öffnen, Filter setzen und „Diese Ansicht speichern…“ wählen.";
        of_user(name: &str, owner: &str) = format!("{name} ({owner})");
        visible_to = "Sichtbar für";
        private = "Nur für mich";
        members_of(project: &str) = format!("Mitglieder des Projekts {project}");
        everyone = "Alle Benutzer";
        copy_link_of(name: &str) = format!("Link von {name} kopieren");
        edit(name: &str) = format!("{name} bearbeiten");
        edit_title = "Ansicht bearbeiten";
        delete(name: &str) = format!("{name} löschen");
        delete_title(name: &str) = format!("Ansicht {name} löschen?");
        delete_effect = "Andere Benutzer können eine geteilte Ansicht nicht mehr aus ihren Menüs öffnen. Links funktionieren weiterhin.";
        saved(name: &str) = format!("Ansicht {name} gespeichert");
        deleted(name: &str) = format!("Ansicht {name} gelöscht");
        kind = "Ansicht";
    }
}
