/**
 * The settings of the embedded PostgreSQL. They are given at each start and go before those in the database folder, so that
 * a new version of Keyturn changes them, and nothing in the folder can turn off syncing.
 */

/** For superusers, and for connections that are on their way out while a worker is replaced. */
const SPARE_CONNECTIONS = 10

const SETTINGS: Readonly<Record<string, string>> = {
  // What is committed survives a loss of power.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // Reached through a socket in the database folder only, which only its owner can enter.
  listen_addresses: '',
  port: '5432',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  // Keyturn starts it again after a crash. PostgreSQL 18.4 can hang when it does so itself and its recovery fails.
  restart_after_crash: 'off',
  // The instance is small, and its connections are few.
  shared_buffers: '8MB',
  huge_pages: 'off',
  work_mem: '1MB',
  maintenance_work_mem: '16MB',
  temp_buffers: '800kB',
  min_wal_size: '5MB',
  max_wal_size: '32MB',
  io_method: 'sync',
  jit: 'off',
  max_parallel_workers: '0',
  max_worker_processes: '0',
  autovacuum: 'on',
  autovacuum_max_workers: '1',
  autovacuum_worker_slots: '1',
  // There are no replicas.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_replication_slots: '0',
  max_logical_replication_workers: '0',
  // Its log goes into that of Keyturn, without statements and rows. Keyturn takes out the values that messages quote.
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_min_messages: 'warning',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_min_duration_statement: '-1',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
  lc_messages: 'C',
}

/**
 * The settings as arguments of the program `postgres`.
 *
 * @param marker The name by which the processes of this database are known.
 */
export function settingsAsArguments(connections: number, marker: string): string[] {
  const settings = {
    cluster_name: marker,
    ...SETTINGS,
    max_connections: String(connections + SPARE_CONNECTIONS),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
