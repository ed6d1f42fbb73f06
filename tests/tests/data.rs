//! JSON, tokens and cryptography as scripts see them, where the recorded vectors of the reference say nothing.

use testkit::Server;

fn eval(server: &Server, script: &str) -> String {
    server
        .eval(script)
        .unwrap_or_else(|e| panic!("{script}: {e:?}"))
}

#[track_caller]
fn check(server: &Server, cases: &[(&str, &str)]) {
    for (script, expected) in cases {
        assert_eq!(eval(server, script), *expected, "{script}");
    }
}

#[test]
fn the_null_keeps_its_type() {
    let server = Server::builder().start();
    check(
        &server,
        &[
            (
                "set n [ns_json null]; catch {llength $n}; catch {expr {$n + 1}}; catch {dict size $n}
                 list [ns_json isnull $n] [ns_json isnull [ns_json null]] [ns_json value $n]",
                "1 1 null",
            ),
            (
                "set d [ns_json parse {{\"a\":null,\"b\":\"\"}}]
                 list [ns_json isnull [dict get $d a]] [ns_json isnull [dict get $d b]]",
                "1 0",
            ),
            ("ns_json isnull {}", "0"),
        ],
    );
}

#[test]
fn deep_texts_do_no_harm() {
    let server = Server::builder().start();
    let deep = "set deep [string repeat \\[ 1000][string repeat \\] 1000]; set t [ns_json parse -output triples $deep];";
    check(
        &server,
        &[
            (&format!("{deep} expr {{[ns_json value $t] eq $deep}}"), "1"),
            (
                &format!("{deep} string length [ns_json triples schema $t]"),
                "25059",
            ),
            (
                "catch {ns_json parse -maxdepth 1000000 [string repeat \\[ 1000000]} m; set m",
                "ns_json: parse error at byte 1000: max depth exceeded",
            ),
        ],
    );
}

#[test]
fn what_does_not_authenticate_is_not_decrypted() {
    let server = Server::builder().start();
    let setup = "set iv 123456789012; set key 0123456789abcdef
        set d [ns_crypto::aead::encrypt string -iv $iv -key $key -aad a -encoding binary text]
        set tag [dict get $d tag]; set bytes [dict get $d bytes]
        proc open {iv key aad tag bytes} {
            catch {ns_crypto::aead::decrypt string -encoding binary -iv $iv -key $key -aad $aad -tag $tag $bytes} r
            return $r
        }";
    let refused = "could not decrypt data: authentication failed (wrong key, iv, aad or tag)";
    for (call, expected) in [
        ("open $iv $key a $tag $bytes", "text"),
        ("open 123456789013 $key a $tag $bytes", refused),
        ("open $iv 0123456789abcdeg a $tag $bytes", refused),
        ("open $iv $key b $tag $bytes", refused),
        (
            "open $iv $key a [string range $tag 0 end-1] $bytes",
            refused,
        ),
        ("open $iv $key a $tag $bytes$bytes", refused),
        ("open $iv $key a $tag {}", refused),
    ] {
        assert_eq!(
            eval(&server, &format!("{setup}\n{call}")),
            expected,
            "{call}"
        );
    }
}

#[test]
fn tokens_do_not_choose_how_keys_are_used() {
    let server = Server::builder().start();
    check(
        &server,
        &[
            (
                // The public key as the secret of an HMAC.
                "set k [ns_crypto::key generate -name EC]; set p [ns_crypto::key pub -format pem -pem $k]
                 catch {ns_jwt verify -key $p [ns_jwt encode -alg HS256 -secret $p -iss me]} m; set m",
                "missing shared secret; provide -secret",
            ),
            (
                "set k [ns_crypto::key generate -name Ed25519]; set e [ns_crypto::key generate -name EC]
                 catch {ns_jwt verify -key $k [ns_jwt encode -alg ES256 -key $e -iss me]} m; set m",
                "key of type \"ed25519\" cannot be used with \"ES256\"",
            ),
            (
                "catch {ns_jwt verify -secret s [ns_jwt encode -alg HS256 -secret s -extraheader {crit array {0 string x}}]} m
                 set m",
                "JWT header names critical extensions, which are not supported",
            ),
            (
                "set k [ns_crypto::key generate -name EC]; set i [ns_crypto::key info -encoding base64url -pem $k]
                 set jwk [dict create kty EC crv P-256 kid 7 x [dict get $i x] y [dict get $i y]]
                 set t [ns_jwt encode -alg ES256 -kid 7 -key $k -iss me]
                 list [dict get [ns_jwt verify -jwk $jwk $t] valid] [dict get [ns_jwt verify -jwks [dict create keys [list $jwk]] $t] kid]",
                "1 7",
            ),
        ],
    );
}

#[test]
fn secrets_are_encapsulated_and_keys_stay_private() {
    let server = Server::builder().start();
    check(
        &server,
        &[
            (
                "set k [ns_crypto::kem generate]; set p [ns_crypto::kem pub -pem $k]
                 set r [ns_crypto::kem encapsulate -pem $p -encoding binary]
                 expr {[ns_crypto::kem decapsulate -pem $k -ciphertext [dict get $r ciphertext] -encoding binary] eq [dict get $r secret]}",
                "1",
            ),
            (
                "set f [ns_mktemp]; file delete $f; ns_crypto::key generate -name Ed25519 -outfile $f
                 set r [list [format %o [file attributes $f -permissions]] [ns_crypto::key type -pem $f]]; file delete $f; set r",
                "600 ed25519",
            ),
        ],
    );
}
