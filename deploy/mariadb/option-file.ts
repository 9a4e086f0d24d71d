/** Options of mariadbd with their values. */
export type Options = readonly (readonly [string, string | number])[]

/** The options of a private MariaDB: small in memory, loopback only, every commit durable. */
export function privateOptions(directory: string, port: number): Options {
  return [
    ['datadir', `${directory}/data`],
    // Relative to datadir: a socket's full path may have 107 characters at most (unix(7)).
    ['socket', 'mariadb.sock'],
    ['pid-file', `${directory}/mariadbd.pid`],
    ['tmpdir', directory],
    ['bind-address', '127.0.0.1'],
    ['port', port],
    ['skip-name-resolve', 1],
    ['skip-log-bin', 1],
    ['character-set-server', 'utf8mb4'],
    ['collation-server', 'utf8mb4_bin'],
    ['default-time-zone', '+00:00'],
    ['max-connections', 400],
    ['max-allowed-packet', '64M'],
    ['performance-schema', 'OFF'],
    ['innodb-buffer-pool-size', '64M'],
    ['innodb-log-file-size', '32M'],
    ['innodb-flush-log-at-trx-commit', 1],
    ['innodb-lock-wait-timeout', 10],
    ['aria-pagecache-buffer-size', '4M'],
    ['key-buffer-size', '1M'],
    ...(process.getuid?.() === 0 ? ([['user', 'root']] as const) : []),
  ]
}

/** The options as an option file of mariadbd. */
export function optionFile(options: Options): string {
  return `[mariadbd]\n${options.map(([name, value]) => `${name}=${value}\n`).join('')}`
}
