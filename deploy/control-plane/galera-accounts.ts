import { grantPattern, restoreDatabases } from '../mariadb/database-user.ts'

const PLAIN = /^[0-9a-f]+$/

/**
 * Statements that the first node of a cluster runs before it listens, one a line: only root exists, on the machine
 * itself, and beside it the account of state transfers and that of the gateways, which must encrypt. Passwords are
 * hexadecimal, so nothing needs quoting.
 */
export function galeraAccounts(password: string, gatewayPassword: string): string {
  if (!PLAIN.test(password) || !PLAIN.test(gatewayPassword))
    throw new Error('A password of the databases is not hexadecimal')
  const lines = [
    "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost'",
    'FLUSH PRIVILEGES',
    `ALTER USER root@localhost IDENTIFIED BY '${password}'`,
    `CREATE USER IF NOT EXISTS sst@localhost IDENTIFIED BY '${password}'`,
    'GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR, REPLICA MONITOR ON *.* TO sst@localhost',
    `CREATE USER IF NOT EXISTS weir@'%' IDENTIFIED BY '${gatewayPassword}' REQUIRE SSL`,
    ...['weir', ...Object.values(restoreDatabases('weir'))].map(
      (database) => `GRANT ALL PRIVILEGES ON ${grantPattern(database)}.* TO weir@'%'`,
    ),
  ]
  return lines.map((line) => `${line};\n`).join('')
}
