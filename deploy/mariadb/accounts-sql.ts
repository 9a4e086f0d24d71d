/**
 * SQL the server runs before it listens: only root exists, over TCP and socket, with this password. Passwords are
 * hexadecimal, so nothing needs quoting.
 */
export function accountsSql(rootPassword: string): string {
  if (!/^[0-9a-f]+$/.test(rootPassword)) throw new Error('The root password is not hexadecimal')
  return [
    "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host NOT IN ('localhost', '127.0.0.1')",
    'FLUSH PRIVILEGES',
    `ALTER USER root@localhost IDENTIFIED BY '${rootPassword}'`,
    `CREATE USER IF NOT EXISTS root@'127.0.0.1'`,
    `ALTER USER root@'127.0.0.1' IDENTIFIED BY '${rootPassword}'`,
    "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
  ]
    .map((line) => `${line};\n`)
    .join('')
}
