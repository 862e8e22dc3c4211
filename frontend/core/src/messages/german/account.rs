//! Messages of the user's own account and tokens, of settings and the audit log, and of the page
//! about the server.

use crate::messages::{LocalTime, Rich, code, counted, strong, translation};

translation! { German;
    password: Password {
        choose = "Passwort festlegen";
        choose_help = "Das Anfangspasswort ist nur für diesen Schritt gültig. Ein neues Passwort festlegen.";
        sign_out_instead = "Abmelden";
        at_provider_help = "Das Passwort beim Identitätsanbieter ändern.";
        at_provider(provider: &str) = format!("Die Anmeldung erfolgt mit {provider}");
        effect = "Die eigenen Sitzungen in anderen Browsern und in Befehlszeilen enden. Diese Sitzung besteht weiter.";
        differs = "Die Passwörter sind verschieden.";
        changed = "Das Passwort wurde geändert.";
        current = "Aktuelles Passwort";
        new_password = "Neues Passwort";
        repeat = "Neues Passwort wiederholen";
    }

    device: Device {
        title = "CLI-Anmeldung bestätigen";
        help = "Den Code eingeben, den drover login anzeigt. Der nächste Schritt zeigt die Anfrage vor der Bestätigung.";
        code = "Code";
        code_help = "Beispiel: BCDF-GHJK.";
        show_request = "Anfrage anzeigen";
        request = "Anmeldeanfrage";
        source = "Quelladresse";
        requested = "Angefordert";
        warning(user: &str) -> Rich = Rich::from("Die Befehlszeile, die diese Anfrage gesendet hat, erhält alle Berechtigungen von ") + strong(user.to_owned()) + ". Die Anfrage nur nach einer selbst gestarteten Anmeldung bestätigen.";
        approve = "Bestätigen";
        reject = "Ablehnen";
        approved = "Bestätigt";
        approved_help = "Die Befehlszeile ist innerhalb von Sekunden angemeldet. Danach enthält die Liste der eigenen Tokens ihr Token.";
        your_tokens = "Eigene Tokens";
        rejected = "Abgelehnt";
        rejected_help(expires: &LocalTime, source: &str) -> Rich = Rich::from(format!("Die Anmeldung wurde nicht bestätigt. Der Code läuft am {expires} ab. Bei einer nicht selbst gestarteten Anmeldung die Adresse ")) + code(source.to_owned()) + " einem Administrator melden.";
    }

    tokens: Tokens {
        session = "Anmeldung";
        password_change = "Passwortänderung";
        api = "API";
        session_help = "Erstellt durch drover login.";
        browser_help = "Sitzung eines Browsers.";
        password_change_help = "Erlaubt nur eine Passwortänderung.";
        api_help = "Von Programmen verwendet.";
        kubeconfig_help = "In einer Kubeconfig gespeichert.";
        credential_help = "Von kubectl verwendet, erstellt durch drover credential oder für eine kubectl-Shell.";
        session_end = "Die Befehlszeile wird abgemeldet.";
        browser_end = "Der Browser wird abgemeldet.";
        password_change_end = "Der Benutzer muss sich erneut anmelden, um das Passwort zu ändern.";
        api_end = "Programme mit diesem Token verlieren den Zugriff.";
        kubeconfig_end = "kubectl verliert den Zugriff mit dieser Kubeconfig.";
        credential_end = "kubectl fordert ein neues Token an, wenn die Anmeldung der Befehlszeile noch gültig ist. Eine kubectl-Shell verliert ihren Zugriff.";
        browser = "Browser";
        kubeconfig = "Kubeconfig";
        kubectl = "kubectl";
        create = "Token erstellen";
        filter_by_purpose = "Nach Zweck filtern";
        mine_only = "Nur eigene Tokens";
        empty = "Keine Tokens";
        empty_advice = "Programme melden sich mit Tokens an. Ein Token hier oder mit diesem Befehl erstellen.";
        lifetime_help(default: &str, limit: &str) = format!("Beispiel: 30d, 12h. Leer: {default}. Höchstens {limit} (Einstellung token-max-ttl).");
        lifetime_help_unknown = "Beispiel: 30d, 12h. Leer: Standard des Servers. Die Einstellung token-max-ttl ist die Grenze.";
        create_help = "Das Token hat bis zu seinem Ablauf die Berechtigungen des eigenen Benutzers. Das Token wird einmal angezeigt.";
        description_help = "Beispiel: Backup-Job. Administratoren können die Beschreibung lesen.";
        lifetime = "Lebensdauer";
        all_clusters = "alle eigenen Cluster";
        scope_help = "Beschränkt das Token auf einen Cluster. Leer: alle eigenen Cluster.";
        only_cluster(name: &str) = format!("nur Cluster {name}");
        stored = "Token ist gesichert";
        copy_now = "Das Token jetzt kopieren. Drover speichert nur seinen Hash und kann es nicht erneut anzeigen.";
        token = "Token";
        usage = "Verwendung";
        purpose = "Zweck";
        last_used = "Zuletzt verwendet";
        this_session = "diese Sitzung";
        everywhere = "alle Cluster";
        expired(time: &str) = format!("abgelaufen {time}");
        expires_soon(time: &str) = format!("läuft bald ab: {time}");
        delete_named(name: &str) = format!("{name} löschen");
        delete_and_sign_out = "Löschen und abmelden";
        delete_effect = "Die Tokens werden sofort abgelehnt. Offene Watches, Logs und Shells werden innerhalb von Sekunden geschlossen. Gelöschte Tokens können nicht wiederhergestellt werden.";
        delete_own = "Die Auswahl enthält die Sitzung dieses Browsers. Das Löschen dieser Sitzung meldet den Browser ab.";
        delete_title(count: usize) = format!("{} löschen?", counted(count, "Token", "Tokens"));
        deleted(count: usize) = match count {
            1 => "1 Token wurde gelöscht.".to_owned(),
            count => format!("{count} Tokens wurden gelöscht."),
        };
        more(count: usize) = format!("und {count} weitere");
    }

    settings: Settings {
        address_and_agent = "Adresse und Agent";
        token_lifetimes = "Lebensdauer von Tokens";
        logs = "Logs";
        other = "Andere Einstellungen";
        no_bounds = "";
        unknown = "Unbekannte Einstellung: Der Server ist neuer als diese Seite.";
        lifetime_bounds = "Eine Zahl und d, h, m oder s: 60s bis 3650d.";
        server_url_bounds = "Host ohne Pfad: https://host oder https://host:port.";
        server_url_effect = "Neue Importe und Kubeconfigs verwenden diese Adresse. Wenn Clients die Adresse nicht erreichen, verbinden sich neue Cluster nicht, und neue Kubeconfigs funktionieren nicht. Vorhandene Cluster und Kubeconfigs behalten ihre Adresse.";
        agent_image_bounds = "Eine Image-Referenz mit Tag oder Digest; keine Leerzeichen, kein https://.";
        agent_image_effect = "Verbundene Cluster mit automatischem Upgrade führen innerhalb einer Minute dieses Image des Agents aus. Wenn ein Cluster das Image nicht laden kann, startet sein neuer Agent nicht.";
        agent_image_registry_bounds = "Eine Registry und ein Pfad; keine Leerzeichen, kein https://.";
        agent_image_registry_effect = "Cluster laden das Image des Agents mit der Version des Servers aus dieser Registry. Die Einstellung agent-image hat Vorrang.";
        agent_image_pull_policy_bounds = "IfNotPresent, Always oder Never.";
        agent_image_pull_policy_effect = "Gilt für neue Manifeste. Mit Never muss jeder Node das Image bereits haben. Mit Always kann der Agent nicht starten, während die Registry nicht verfügbar ist.";
        token_max_ttl_effect = "Gilt für neue Tokens. Ein gestohlenes Token ist bis zu seinem Ablauf gültig.";
        token_default_ttl_effect = "Gilt für neue Tokens ohne Lebensdauer. Die Grenze ist token-max-ttl.";
        kubeconfig_token_ttl_effect = "Gilt für neue Kubeconfigs mit Tokens. kubectl verliert den Zugriff, wenn das Token abläuft. Die Grenze ist token-max-ttl.";
        session_ttl_effect = "Gilt für neue Anmeldungen, im Browser und mit drover login. Nach dieser Zeit ist eine neue Anmeldung erforderlich.";
        session_idle_ttl_effect = "Gilt für neue Sitzungen im Browser. Eine Sitzung ohne Anfragen endet nach dieser Zeit.";
        groups_refresh_bounds = "Eine Zahl und h, m oder s: 5m bis 6h.";
        groups_refresh_effect = "Gilt für Benutzer von Identitätsanbietern. Änderungen der Gruppen werden innerhalb dieser Zeit wirksam.";
        provider_grace_bounds = "Eine Zahl und d, h, m oder s: 12h bis 30d.";
        provider_grace_effect = "Gilt für Benutzer eines Identitätsanbieters, der nicht antwortet. Ihr Zugriff endet nach dieser Zeit.";
        log_filter_bounds = "Eine Stufe (error, warn, info, debug, trace), oder durch Kommas getrennte Stufen pro Ziel.";
        log_filter_effect = "Die Stufen debug und trace erzeugen viel mehr Log-Zeilen und verlangsamen den Server. Die Stufe error blendet Warnungen aus.";
        edit_named(name: &str) = format!("{name} bearbeiten");
        read_only(cause: &str) = format!("Schreibgeschützt: {cause}.");
        not_applied = "nicht angewendet";
        by_default = "Standard";
        not_found(name: &str) = format!("Einstellung {name} nicht gefunden");
        not_found_advice = "Den Namen prüfen, oder warten, bis die Liste geladen ist.";
        edit_title = "Einstellung bearbeiten";
        saved(name: &str, value: &str) = match value {
            "" => format!("{name} wurde gespeichert. Der Wert ist leer."),
            value => format!("{name} wurde gespeichert. Der Wert ist {value}."),
        };
        reset = "Auf Standard zurücksetzen";
        value = "Wert";
        duration(duration: &str) = format!("Entspricht {duration}.");
        bounds(allowed_values: &str) = format!("{allowed_values} Leer: Standard.");
        in_effect = "Wirksamer Wert";
        default = "Standard";
        allowed = "Erlaubte Werte";
        not_applied_label = "Nicht angewendet";
        temporary = "Vorübergehender Log-Filter";
        temporary_help = "Gilt, bis der Server neu startet oder die Einstellung geändert wird. Dieser Filter ändert die Einstellung nicht.";
        filter_applied = "Der Log-Filter wurde angewendet.";
        log_filter = "Log-Filter";
        log_filter_help = "Beispiel: debug, oder info,drover_proxy=trace.";
        apply_filter = "Filter anwenden";
    }

    audit: Audit {
        administrators_only = "Nur Administratoren können das Audit-Log lesen";
        time_help = "Beispiel: 1h, 7d, 2026-11-22T10:00:00Z.";
        open = "offen";
        complete = "abgeschlossen";
        refused = "abgelehnt";
        client_gone = "Verbindung des Clients getrennt";
        cluster_gone = "Verbindung des Clusters getrennt";
        revoked = "widerrufen";
        unauthenticated(count: u64) = match count {
            1 => "1 nicht authentifizierte Anfrage".to_owned(),
            count => format!("{count} nicht authentifizierte Anfragen"),
        };
        time = "Zeit";
        duration = "Dauer";
        request = "Anfrage-ID";
        user_uid = "UID des Benutzers";
        token = "Token";
        impersonated = "Benutzer der Impersonation";
        source = "Quelle";
        cluster_uid = "UID des Clusters";
        method = "Methode";
        path = "Pfad";
        path_length = "Länge des Pfads";
        requests = "Anfragen";
        outcome = "Ergebnis";
        reason = "Grund";
        bytes_in = "Empfangene Bytes";
        bytes_out = "Gesendete Bytes";
        record = "Eintrag";
        code_help = "Statuscode, zum Beispiel 403.";
        search = "Suchen";
        changes_only = "Nur Änderungen";
        with_reads = "Lesezugriffe einschließen";
        show_all = "Alle anzeigen";
        filter_help = "Beispiel: user:ann verb:delete since:2h. Namen müssen vollständig übereinstimmen.";
        request_column = "Anfrage";
        impersonating(user: &str) = format!("als {user}");
        unknown_user = "nicht authentifiziert";
        kept_since(time: &LocalTime, in_memory: bool) = if in_memory {
            format!("Einträge seit {time}, aus dem Arbeitsspeicher des Servers. Der Server schreibt das Audit-Log in die Standardausgabe.")
        } else {
            format!("Einträge seit {time}, aus dem Log des Servers.")
        };
        no_records_in(in_memory: bool) = if in_memory {
            "Noch keine Einträge im Arbeitsspeicher des Servers. Der Server schreibt das Audit-Log in die Standardausgabe.".to_owned()
        } else {
            "Noch keine Einträge im Log des Servers.".to_owned()
        };
        failed = "Das Audit-Log kann nicht gelesen werden";
        invalid = "Ungültige Abfrage";
        invalid_advice = "Die Abfrage oben korrigieren.";
        stopped = "Suche beendet";
        stopped_advice = "„Suchen“ wählen, um erneut zu beginnen.";
        no_match_yet = "Noch keine Treffer";
        no_match_yet_advice = "Nur der neueste Teil des Logs wurde durchsucht.";
        table = "Audit-Log";
        no_match = "Keine Treffer";
        no_match_advice = "Filter entfernen oder ab einer früheren Zeit suchen.";
        empty = "Noch keine Einträge";
        empty_advice = "Anfragen an Cluster und Änderungen in Drover werden hier aufgezeichnet.";
        show_older = "Ältere Einträge anzeigen";
        stop = "Beenden";
        shown_more(count: &str) = format!("{count} Einträge angezeigt, ältere Einträge vorhanden");
        shown_all(count: &str) = format!("Alle {count} gespeicherten Einträge angezeigt");
        shown_matching(count: &str) = format!("Alle {count} passenden Einträge angezeigt");
        unreadable(lines: &str) = format!("{lines} Zeilen des Logs können nicht gelesen werden.");
        query = "Abfrage";
        unknown_term(term: &str) = format!("Unbekannter Begriff {term}. Möglich sind user, cluster, verb, outcome, code, path, object, since und until.");
        empty_term(name: &str) = format!("Der Begriff {name} hat keinen Wert.");
        open_quote = "Ein Anführungszeichen fehlt.";
        repeated_term(name: &str) = format!("Die Abfrage enthält {name} mehrmals.");
        unknown_outcome(outcome: &str, all: &str) = format!("Unbekanntes Ergebnis {outcome}. Möglich sind: {all}.");
        user_term = "Genauer Benutzername";
        cluster_term = "Genauer Name des Clusters";
        verb_term = "Kubernetes-Verb, changes oder any";
        outcome_term = "Ergebnis der Anfrage";
        path_term = "Teil des Anfragepfads";
        object_term = "Genauer Name des Objekts";
    }

    about: About {
        embedded_hub(version: &str) = format!("eingebettet, Kubernetes-API {version}");
        server = "Server";
        you = "Eigenes Konto";
        address = "Adresse";
        commit = "Commit";
        page_version = "Version dieser Seite";
        agent_protocols = "Protokolle des Agents";
        rest_api = "REST-API";
        openapi = "OpenAPI-Dokument";
        hub = "Hub";
        administrator = "Administrator: alle Berechtigungen";
        by_roles = "Berechtigungen durch Rollen";
        idle_timeout(minutes: u32) = format!(", oder nach {minutes} Minuten ohne Anfrage");
        user_name = "Benutzername";
        kubernetes_user = "Kubernetes-Benutzer";
        session_expires = "Sitzung läuft ab";
    }
}
