//! The HTTP/1.1 server.

use super::{Service, api};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Deadline for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Header fields of a request; hyper answers 431 to more.
const MAX_HEADERS: usize = 64;
/// Size of a request's head, bytes; hyper answers 431 to more.
const MAX_HEAD: usize = 64 * 1024;
/// Concurrent connections; more are not accepted until one closes.
const MAX_CONNECTIONS: usize = 2_048;
/// How long pending requests may take after `stop`.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after `accept` failed, so that a lack of file descriptors does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves until `stop` is ready, then accepts no more connections and lets pending requests finish.
pub async fn run(service: Service, listener: TcpListener, stop: impl Future<Output = ()>) {
    serve_router(api::router(&service), listener, stop).await;
}

/// Serves any router in the same way.
///
/// `axum::serve` sets neither a deadline for the head of a request nor limits for its headers and connections.
pub(crate) async fn serve_router(router: axum::Router, listener: TcpListener, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
    let mut stop = std::pin::pin!(stop);
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&permits).acquire_owned() => permit,
            () = &mut stop => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // no free file descriptor, or the client has gone: later connections may succeed
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // an error here is one client's broken connection, which concerns no other
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}
