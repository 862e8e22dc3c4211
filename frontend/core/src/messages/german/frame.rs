//! Messages that all screens use, the frame around the screens, and general states and formats.

use crate::messages::LocalTime;
use crate::messages::{Noun, Rich, Unit, code, counted, translation};
use drover_rows::Severity;

const fn singular(noun: Noun) -> &'static str {
    match noun {
        Noun::Clusters => "Cluster",
        Noun::IdentityProviders => "Identitätsanbieter",
        Noun::Members => "Mitglied",
        Noun::Projects => "Projekt",
        Noun::Roles => "Rolle",
        Noun::Settings => "Einstellung",
        Noun::Tokens => "Token",
        Noun::Users => "Benutzer",
    }
}

const fn plural(noun: Noun) -> &'static str {
    match noun {
        Noun::Clusters => "Cluster",
        Noun::IdentityProviders => "Identitätsanbieter",
        Noun::Members => "Mitglieder",
        Noun::Projects => "Projekte",
        Noun::Roles => "Rollen",
        Noun::Settings => "Einstellungen",
        Noun::Tokens => "Tokens",
        Noun::Users => "Benutzer",
    }
}

/// Returns „Kein“ or „Keine“ for the gender of the noun.
const fn no(noun: Noun) -> &'static str {
    match noun {
        Noun::Roles | Noun::Settings => "Keine",
        _ => "Kein",
    }
}

translation! { German;
    buttons: Buttons {
        cancel = "Abbrechen";
        close = "Schließen";
        find = "Suchen";
        dismiss = "Ausblenden";
        copy_again = "Erneut kopieren";
        copy = "Kopieren";
        filter = "Filtern";
        try_again = "Erneut versuchen";
        save = "Speichern";
        download = "Herunterladen";
        delete_menu = "Löschen…";
        delete = "Löschen";
        remove = "Entfernen";
        discard = "Änderungen verwerfen";
        edit_menu = "Bearbeiten…";
        add = "Hinzufügen";
        done = "Fertig";
        disable_menu = "Deaktivieren…";
        enable_menu = "Aktivieren…";
        reload = "Neu laden";
    }

    labels: FieldLabels {
        never = "nie";
        filter_by_state = "Nach Status filtern";
        command = "Befehl";
        state = "Status";
        name = "Name";
        version = "Version";
        nodes = "Nodes";
        cpu = "CPU";
        memory = "Arbeitsspeicher";
        pods = "Pods";
        agent = "Agent";
        age = "Alter";
        namespace = "Namespace";
        description = "Beschreibung";
        labels = "Labels";
        kubernetes = "Kubernetes";
        agent_key = "Schlüssel des Agents";
        agent_image = "Image des Agents";
        connection = "Verbindung";
        reports = "Berichte";
        node_agents = "Node-Agents";
        last_seen = "Zuletzt gesehen";
        created = "Erstellt";
        uid = "UID";
        resource = "Ressource";
        user = "Benutzer";
        cluster = "Cluster";
        choose_cluster = "Cluster auswählen";
        subject = "Subjekt";
        role = "Rolle";
        in_new_tab = " (öffnet einen neuen Tab)";
        choose_role = "Rolle auswählen";
        scope = "Geltungsbereich";
        kind = "Art";
        resources = "Ressourcen";
        display_name = "Anzeigename";
        project = "Projekt";
        namespaces = "Namespaces";
        not_set = "Nicht festgelegt";
        expires = "Läuft ab";
        permissions = "Berechtigungen";
        choose_user = "Benutzer auswählen";
    }

    kit: Kit {
        why = "Warum?";
        type_to_confirm(text: &str) = format!("Zur Bestätigung {text} eingeben");
        previous_match = "Vorheriger Treffer (Umschalt+Eingabe)";
        next_match = "Nächster Treffer (Eingabe)";
        lines_found(count: usize) = match count {
            0 => "Keine Treffer".to_owned(),
            count => counted(count, "Zeile", "Zeilen"),
        };
        match_of(position: usize, count: usize) = format!("{position} von {count}");
        loading = "Wird geladen…";
        not_copied = "Der Browser erlaubt hier kein Kopieren. Den Text markieren und kopieren.";
        copied = "Kopiert.";
        copy_named(label: &str) = format!("Kopieren: {label}");
        results = "Treffer";
        no_results = "Keine Treffer. Weniger Buchstaben eingeben.";
        filter_choices = "Auswahl filtern";
        select_row(name: &str) = format!("{name} auswählen");
        select_all_rows(count: usize) = format!("Alle {count} aufgelisteten Zeilen auswählen");
        language_browser = "Sprache des Browsers";
        theme_system = "System-Design";
        theme_light = "Hell";
        theme_dark = "Dunkel";
        theme_contrast = "Hoher Kontrast";
        rows_compact = "Niedrige Zeilen";
        rows_normal = "Normale Zeilen";
        rows_spacious = "Hohe Zeilen";
    }

    frame: Frame {
        skip = "Zum Inhalt springen";
        brand = "Drover: alle Cluster";
        go_to = "Gehe zu…";
        navigation = "Hauptmenü";
        clusters = "Cluster";
        projects = "Projekte";
        tokens = "Tokens";
        about = "Info";
        users = "Benutzer";
        providers = "Anbieter";
        roles = "Rollen";
        audit = "Audit";
        settings = "Einstellungen";
        change_password = "Passwort ändern";
        sign_out = "Abmelden";
        sign_out_everywhere_menu = "Überall abmelden…";
        user_menu = "Konto und Design";
        breadcrumbs = "Übergeordnete Seiten";
        sign_out_everywhere_title = "Überall abmelden?";
        stay_signed_in = "Angemeldet bleiben";
        sign_out_everywhere = "Überall abmelden";
        sign_out_everywhere_effect() -> Rich = Rich::from("Meldet alle Browser ab, und alle Befehlszeilen, die mit ")
            + code("drover login") + " angemeldet wurden. API-Tokens und Kubeconfig-Tokens bleiben gültig. Der folgende Befehl listet sie auf: "
            + code("drover token list") + ".";
        leave_title = "Nicht gespeicherte Änderungen verwerfen?";
        leave = "Änderungen verwerfen";
        stay = "Weiter bearbeiten";
        leave_effect = "Diese Seite hat nicht gespeicherte Änderungen. Verworfene Änderungen können nicht wiederhergestellt werden.";
        same_command = "Gleichwertiger Befehl:";
        show_command = "Gleichwertigen Befehl anzeigen";
        copy_command = "Befehl kopieren";
    }

    palette: Palette {
        title = "Seite öffnen oder Befehl ausführen";
        search = "Cluster, Seite, Befehl oder Objekt suchen";
        hint = "Cluster, Seite, Befehl, Objekt, app=web oder image:nginx";
        all_objects(count: usize, kind: &str) = format!("Alle {count} Treffer: {kind}");
        skipped(count: usize) = match count {
            1 => "1 Cluster ist nicht vollständig durchsucht".to_owned(),
            count => format!("{count} Cluster sind nicht vollständig durchsucht"),
        };
        not_connected = "Der Cluster ist nicht verbunden.";
        above_limit(most: usize) = format!("Die Palette durchsucht höchstens {most} Cluster. Die Listen aller Cluster oder drover search verwenden.");
        truncated = "Der Cluster hat mehr Objekte, als der Server durchsucht. Die Listen des Clusters verwenden.";
        theme(name: &str) = format!("Design: {name}");
        language(name: &str) = format!("Sprache: {name}");
        kind_command = "Befehl";
        kind_page = "Seite";
        all_clusters = "Alle Cluster";
        import = "Cluster importieren";
        create_project = "Projekt erstellen";
        access = "Zugriff prüfen";
        create_token = "Token erstellen";
        about = "Über diesen Server";
        device = "CLI-Anmeldung bestätigen";
        create_user = "Benutzer erstellen";
        providers = "Identitätsanbieter";
        global_members = "Mitglieder aller Cluster";
        create_provider = "Identitätsanbieter erstellen";
        audit = "Audit-Log";
        of_cluster(cluster: &str, page: &str) = format!("{cluster}: {page}");
        members = "Mitglieder";
    }

    session: Session {
        server_offline = "Der Server antwortet nicht";
        sign_in_first = "Zuerst anmelden.";
        signed_out_everywhere = "Alle Browser und Befehlszeilen sind abgemeldet.";
        signed_out = "Die Abmeldung war erfolgreich.";
        ended = "Die Sitzung ist beendet. Nicht gespeicherte Änderungen sind verloren. Nach der Anmeldung wird diese Seite wieder geöffnet.";
        signed_in_at_provider(provider: &str) = format!("Die Sitzung in Drover ist beendet, aber die Sitzung bei {provider} besteht weiter. Um sie zu beenden, bei {provider} abmelden.");
    }

    chunk: Chunk {
        failed = "Diese Seite kann nicht geladen werden";
        advice = "Die Netzwerkverbindung prüfen und es erneut versuchen. Nach einem Upgrade des Servers die Seite neu laden.";
    }

    freshness: Freshness {
        connecting = "verbindet";
        live = "aktuell";
        stale_since(time: &LocalTime) = format!("veraltet seit {time}");
        stale(time: &LocalTime, cause: &str) = format!("Die Daten wurden um {time} geladen. {cause} Neue Versuche erfolgen automatisch.");
        missing(problem: &str, cause: &str) = format!("{problem} {cause} Neue Versuche erfolgen automatisch.");
    }

    lists: Lists {
        heading(noun: Noun) -> &'static str = plural(noun);
        filter_hint(noun: Noun) -> &'static str = match noun {
            Noun::Clusters => "Name  env=prod  state:ready  version:1.36  -nicht",
            Noun::IdentityProviders => "Name, Protokoll, aktiviert",
            Noun::Members => "Name, Rolle, Gruppe",
            Noun::Projects => "Name, Cluster, Status",
            Noun::Roles => "Name, Beschreibung, Bereich",
            Noun::Settings => "Name",
            Noun::Tokens => "Beschreibung, Cluster, ID",
            Noun::Users => "Name, Login, Anbieter, deaktiviert",
        };
        filter(noun: Noun) = format!("{objects} filtern", objects = plural(noun));
        no_match_title = "Keine Treffer";
        no_match(noun: Noun) = format!("{no} {object} entspricht dem Filter. Wörter oder Filter entfernen.", no = no(noun), object = singular(noun));
        show_all(noun: Noun) = format!("Alle {objects} anzeigen", objects = plural(noun));
        all(noun: Noun) = format!("Alle {objects}", objects = plural(noun));
        all_listed(count: &str) = format!("{count} insgesamt");
        some_listed(shown: &str, all: &str) = format!("{shown} von {all}");
        forbidden(noun: Noun) = format!("Keine Berechtigung zum Auflisten: {objects}", objects = plural(noun));
        failed(noun: Noun) = format!("{objects} können nicht aufgelistet werden", objects = plural(noun));
        ask_administrator = "Einen Administrator bitten, diese Aktion auszuführen oder die globale Rolle Administrator zuzuweisen.";
        ask_for_role(requirement: &str) = format!("{requirement}. Einen Administrator um die Rolle bitten.");
        selected(count: usize) = format!("{count} ausgewählt");
        selected_hidden(count: usize, hidden: usize) = format!("{count} ausgewählt, {hidden} durch den Filter ausgeblendet");
        clear_selection = "Auswahl aufheben";
    }

    home: Home {
        import = "Cluster importieren";
        empty = "Noch keine Cluster";
        empty_advice = "Importierte Cluster werden hier aufgelistet. Zum Importieren „Cluster importieren“ wählen oder diesen Befehl ausführen.";
        no_role = "Keine Rolle in einem Cluster";
        no_role_advice = "Hier werden Cluster aufgelistet, in denen eine Rolle zugewiesen ist. Einen Administrator um eine Rolle bitten.";
        used(used: &str, total: &str) = format!("{used} von {total} verwendet");
        requested(requested: &str, total: &str) = format!("{requested} von {total} angefordert");
        used_pods(pods: f64, limit: f64) = format!("{pods} von {limit}");
        summary = "Alle Cluster";
        no_problems = "Die Cluster melden keine Probleme.";
        unhealthy(count: usize) = format!("{} nicht bereit", counted(count, "Cluster", "Cluster"));
        not_ready_nodes(count: usize) = format!("{} nicht bereit", counted(count, "Knoten", "Knoten"));
        failing_pods(count: usize) = format!("{} fehlerhaft", counted(count, "Pod", "Pods"));
        unschedulable_pods(count: usize) = format!("{} nicht planbar", counted(count, "Pod", "Pods"));
    }

    sign_in: SignIn {
        local_user = "Als lokaler Benutzer anmelden";
        with_provider(provider: &str) = format!("Mit {provider} anmelden");
        bad_address = "der Browser lehnt die Adresse der Anmeldung ab";
        sign_in = "Anmelden";
        with_password_of(provider: &str) -> Rich = Rich::from("Benutzername und Passwort von ") + crate::messages::strong(provider.to_owned()) + " eingeben.";
        user_name = "Benutzername";
        password = "Passwort";
        providers_unknown(cause: &str) = format!("Die Identitätsanbieter können nicht gelesen werden: {cause}");
    }

    forms: Forms {
        too_long(limit: usize, count: usize) = format!("Höchstens {limit} Zeichen. Der Text hat {count}.");
        too_short(minimum: usize) = format!("Mindestens {minimum} Zeichen.");
    }

    batch: Batch {
        progress(done: usize, total: usize, failed: usize, cancelled: usize) = match (failed, cancelled) {
            (0, 0) => format!("{done} von {total} abgeschlossen"),
            (failed, 0) => format!("{done} von {total} abgeschlossen, {failed} fehlgeschlagen"),
            (0, cancelled) => format!("{done} von {total} abgeschlossen, {cancelled} abgebrochen"),
            (failed, cancelled) => format!("{done} von {total} abgeschlossen, {failed} fehlgeschlagen, {cancelled} abgebrochen"),
        };
        progress_label = "Fortschritt";
        retry = "Verbleibende Aktionen wiederholen";
    }

    not_found: NotFound {
        title = "Nicht gefunden";
        heading = "Seite nicht gefunden";
        advice = "Die Adresse prüfen oder die Liste der Cluster öffnen.";
    }

    problems: Problems {
        offline_title = "Der Server ist nicht erreichbar";
        retrying(cause: &str) = format!("{cause} Neue Versuche erfolgen automatisch.");
        offline = "Der Server ist nicht erreichbar. Die Netzwerkverbindung prüfen, und prüfen, ob der Server läuft.";
        unexpected(problem: &str) = format!("Unerwartete Antwort des Servers: {problem}. Die Seite neu laden: möglicherweise hatte der Server ein Upgrade.");
        status_only(code: u16) = format!("Der Server hat mit dem Status {code} ohne Meldung geantwortet.");
        bad_header = "ungültiger Header der Anfrage";
        endless_list = "die Liste hat zu viele Seiten";
        no_body = "kein Inhalt";
        bad_stream = "ungültiger Datenstrom";
        endless_line = "eine Zeile ist zu lang";
        no_version = "eine Liste ohne Ressourcenversion";
    }

    durations: Durations {
        ago(age: &str) = format!("vor {age}");
        lasting(age: &str) = format!("seit {age}");
        of(count: u64, unit: Unit) = {
            let (one, other) = match unit {
                Unit::Day => ("Tag", "Tage"),
                Unit::Hour => ("Stunde", "Stunden"),
                Unit::Minute => ("Minute", "Minuten"),
                Unit::Second => ("Sekunde", "Sekunden"),
            };
            format!("{count} {unit}", unit = if count == 1 { one } else { other })
        };
        format_help = "Eine Zahl und d, h, m oder s eingeben. Beispiel: 30d, 12h.";
        minimum = "Mindestens eine Minute: 60s.";
        maximum(limit: &str) = format!("Höchstens {limit} (Einstellung token-max-ttl).");
        // Ages have the format of kubectl.
        short(count: i64, unit: Unit) = match unit {
            Unit::Day => format!("{count}d"),
            Unit::Hour => format!("{count}h"),
            Unit::Minute => format!("{count}m"),
            Unit::Second => format!("{count}s"),
        };
        short_years(count: i64) = format!("{count}y");
        seconds(count: i64) = format!("{count} s");
        milliseconds_rounded(count: f64) = format!("{count:.0} ms");
        seconds_rounded(count: f64) = format!("{count:.1} s").replace('.', ",");
        minutes_rounded(count: f64) = format!("{count:.0} min");
        until(age: &str) = format!("in {age}");
        old(age: &str) = format!("{age} alt");
    }

    numbers: Numbers {
        thousands = ".";
        decimal = ",";
    }

    states: States {
        unknown = "unbekannt";
        severity(severity: Severity) -> &'static str = match severity {
            Severity::Failing => "fehlerhaft",
            Severity::Degraded => "beeinträchtigt",
            Severity::Progressing => "in Arbeit",
            Severity::Healthy => "fehlerfrei",
            Severity::Idle => "inaktiv",
        };
        yes = "ja";
        no = "nein";
        not_set = "nicht festgelegt";
        deleting = "wird gelöscht";
        not_ready = "nicht bereit";
        pending = "ausstehend";
        ready = "bereit";
        none = "keine";
    }

    navigation: Navigation {
        network = "Netzwerk";
        configuration = "Konfiguration";
        storage = "Speicher";
        access = "Zugriff";
        custom = "Custom Resources";
        leave = "Alle Cluster";
        everywhere = "In allen Clustern";
        loading = "Arten werden geladen…";
        failed = "Die Arten dieses Clusters können nicht geladen werden.";
    }
}
