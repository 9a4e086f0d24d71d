/** The account with which a site follows another one's database, and copies it. */
export const STANDBY_ACCOUNT = 'standby'

const PLAIN = /^[0-9a-f]+$/
/** For reading the changes of a server, for following another one, and for the database itself and the drafts of a copy. */
const RIGHTS = [
  'RELOAD, REPLICATION SLAVE, REPLICATION SLAVE ADMIN, SLAVE MONITOR, BINLOG MONITOR, READ_ONLY ADMIN ON *.*',
  'ALL PRIVILEGES ON `weir`.*',
  'ALL PRIVILEGES ON `weir\\_restore`.*',
  'ALL PRIVILEGES ON `weir\\_before\\_restore`.*',
]

/** Statements that make the account, or give it this password. Passwords are hexadecimal, so nothing needs quoting. */
export function standbyAccount(
  password: string,
  { isEncrypted }: { readonly isEncrypted: boolean },
): readonly string[] {
  if (!PLAIN.test(password)) throw new Error('The password of the sites is not hexadecimal')
  const account = `${STANDBY_ACCOUNT}@'%'`
  return [
    `CREATE USER IF NOT EXISTS ${account}`,
    `ALTER USER ${account} IDENTIFIED BY '${password}' REQUIRE ${isEncrypted ? 'SSL' : 'NONE'}`,
    ...RIGHTS.map((rights) => `GRANT ${rights} TO ${account}`),
  ]
}
