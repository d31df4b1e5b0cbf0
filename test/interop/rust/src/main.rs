//! Serves the verifier on loopback, as the test expects it.
mod verifier;

use std::sync::Arc;
use std::thread;

use tiny_http::{Response, Server};
use verifier::Verifier;

fn main() {
    let verifier = Arc::new(Verifier::from_env().expect("settings"));
    let server = Arc::new(Server::http("127.0.0.1:0").expect("a port"));
    println!("ready {}", server.server_addr().to_ip().expect("an address").port());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (server, verifier) = (server.clone(), verifier.clone());
            thread::spawn(move || {
                for mut request in server.incoming_requests() {
                    let mut token = String::new();
                    let read = request.as_reader().read_to_string(&mut token);
                    let verified = read.map_err(Into::into).and_then(|_| verifier.verify(&token));
                    let response = match verified {
                        Ok(claims) => Response::from_string(format!("{} {} {:?}", claims.sub, claims.client_id, claims.scope)),
                        Err(error) => Response::from_string(error.to_string()).with_status_code(401),
                    };
                    // Whoever asked may be gone.
                    let _ = request.respond(response);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a thread that serves");
    }
}
