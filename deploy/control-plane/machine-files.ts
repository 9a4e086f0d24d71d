import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OPERATOR_PERMISSIONS, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { proxyConfig } from '../haproxy/haproxy.ts'
import { type GaleraCluster, galeraOptions } from '../mariadb/galera-options.ts'
import { optionFile, privateOptions } from '../mariadb/option-file.ts'
import { replicationOptions } from '../mariadb/replication-options.ts'
import { standbyAccount } from '../mariadb/standby-account.ts'
import { type Cluster, clusterLeafUrl, clusterUrl } from '../nats/cluster.ts'
import { gatewayAccountFile } from '../nats/gateway-account.ts'
import { natsConfig } from '../nats/nats-config.ts'
import { natsKeys } from '../nats/nats-keys.ts'
import { projectRoot } from '../paths.ts'
import {
  busMembers,
  type ControlPlane,
  endpointUrl,
  FILES,
  type Folders,
  PORTS,
} from './control-plane.ts'
import { galeraAccounts } from './galera-accounts.ts'
import type { OwnFiles } from './own-files.ts'
import { authorityIn, cloudsYaml, ownDatabaseUrl, readSecret } from './shared-files.ts'
import { loadSite, standbyPassword } from './site-files.ts'

/** As the Debian package installs it. */
const EXAMPLE = 'deploy/debian/files/gateway.env'

/** A machine of a control plane. */
export interface OwnMachine {
  readonly plane: ControlPlane
  readonly folders: Folders
  /** Its place among the machines. */
  readonly place: number
  /** True where the databases begin: at the machine where `./weir init` was run. */
  readonly isFirst: boolean
}

/** Afterwards the folders have what the services of this machine are started with. The secrets must be there. */
export async function keepMachineFiles(files: OwnFiles, own: OwnMachine): Promise<void> {
  const { plane, folders, place } = own
  await files.settings(FILES.machine, () => `${plane.machines[place]}\n`)
  // That of a database elsewhere is among the secrets.
  if (plane.hasDatabases)
    await files.settings(FILES.databaseUrl, () => ownDatabaseUrl(plane, folders))
  await files.settings(FILES.clouds, () => cloudsYaml(plane, folders))
  if (plane.hasDatabases) await keepDatabase(files, own)
  await keepBus(files, own)
  await files.settings('haproxy.cfg', () =>
    proxyConfig({
      host: '*',
      port: PORTS.proxy,
      gateways: plane.machines.map((each) => hostPort(each, PORTS.gateway)),
      tls: tlsOf(folders),
    }),
  )
  await keepGateway(files, own)
}

async function keepDatabase(files: OwnFiles, own: OwnMachine): Promise<void> {
  const { plane, folders, place, isFirst } = own
  const home = files.stateFolder('mariadb')
  const cluster: GaleraCluster = {
    members: plane.machines.map((address, nth) => ({
      name: `machine-${nth + 1}`,
      address,
      ports: { sql: PORTS.sql, group: PORTS.galera, ist: PORTS.ist, sst: PORTS.sst },
    })),
    password: readSecret(folders.directory, 'mariadb.password'),
    tls: tlsOf(folders),
  }
  const { certificateFile, keyFile, caFile } = tlsOf(folders)
  const member = cluster.members[place]!
  const site = loadSite(folders)
  const isNew = !existsSync(join(folders.directory, 'mariadb.cnf'))
  await files.settings('mariadb.cnf', () => {
    const options = privateOptions(home, PORTS.sql).filter(([name]) => name !== 'user')
    const all = optionFile([
      ...options,
      ...galeraOptions(member, cluster, home),
      ...(site === undefined ? [] : replicationOptions(site.number, place)),
      ['bind-address', '*'],
      ['innodb-buffer-pool-size', '256M'],
      ['ssl-ca', caFile],
      ['ssl-cert', certificateFile],
      ['ssl-key', keyFile],
    ])
    const transfer = ['encrypt=3', `tca=${caFile}`, `tcert=${certificateFile}`, `tkey=${keyFile}`]
    return `${all}\n[sst]\n${[...transfer, 'ssl-mode=VERIFY_CA'].join('\n')}\n`
  })
  // It makes a cluster begin, once: a second one would never join the first.
  if (!isFirst || !isNew) return
  const password = readSecret(folders.directory, 'database.password')
  const ofSite =
    site === undefined ? [] : standbyAccount(standbyPassword(folders), { isEncrypted: true })
  await files.state('mariadb/accounts.sql', () =>
    [galeraAccounts(cluster.password, password), ...ofSite.map((sql) => `${sql};\n`)].join(''),
  )
}

async function keepBus(files: OwnFiles, { plane, folders, place }: OwnMachine): Promise<void> {
  const home = files.stateFolder('nats')
  const keys = natsKeys(folders.directory)
  const cluster: Cluster = { members: busMembers(plane), own: place, tls: tlsOf(folders) }
  const ports = { port: PORTS.bus, leafPort: PORTS.leaf }
  await files.settings('nats.conf', () => natsConfig(home, ports, keys, { cluster }))
  files.stateFolder('nats/accounts')
  const account = await gatewayAccountFile(keys)
  await files.state(`nats/${account.name}`, () => account.content)
  await files.state('gateway.creds', () =>
    issueCredentials('gateway', keys.gatewaySeed, SERVER_SIDE_PERMISSIONS),
  )
  await files.state('gateway-operator.creds', () =>
    issueCredentials('gateway-operator', keys.systemSeed, OPERATOR_PERMISSIONS),
  )
}

async function keepGateway(files: OwnFiles, own: OwnMachine): Promise<void> {
  const { plane, folders, place } = own
  const { directory, state } = folders
  const { certificateFile, keyFile, caFile } = tlsOf(folders)
  const url = endpointUrl(plane)
  const site = loadSite(folders)
  const bus = { members: busMembers(plane), tls: tlsOf(folders) }
  const settings: Readonly<Record<string, string>> = {
    GATEWAY_PROCESS: `gateway-${place + 1}`,
    GATEWAY_PORT: String(PORTS.gatewayPlain),
    GATEWAY_PUBLIC_URL: url,
    GATEWAY_JOIN_URL: url,
    GATEWAY_TLS_LISTEN_HOST: plane.machines[place]!,
    GATEWAY_TLS_PORT: String(PORTS.gateway),
    GATEWAY_TLS_CERTIFICATE_FILE: certificateFile,
    GATEWAY_TLS_KEY_FILE: keyFile,
    GATEWAY_TRUSTED_PROXIES: plane.machines.join(','),
    GATEWAY_DATABASE_URL_FILE: join(directory, FILES.databaseUrl),
    GATEWAY_SECRET_KEY_FILE: join(directory, FILES.gatewayKey),
    GATEWAY_NATS_URL: clusterUrl(bus),
    GATEWAY_NATS_LEAF_URL: clusterLeafUrl(bus),
    GATEWAY_NATS_CREDENTIALS_FILE: join(state, 'gateway.creds'),
    GATEWAY_NATS_ACCOUNT_SEED_FILE: join(directory, 'gateway-account.nk'),
    GATEWAY_NATS_OPERATOR_SEED_FILE: join(directory, 'operator.nk'),
    GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE: join(state, 'gateway-operator.creds'),
    GATEWAY_NATS_SYSTEM_SEED_FILE: join(directory, 'system-account.nk'),
    ...('GATEWAY_IMAGES' in plane.settings
      ? { GATEWAY_AUDIT_DIRECTORY: join(state, 'audit') }
      : { GATEWAY_IMAGE_DIRECTORY: join(state, 'images') }),
    // Of the databases and the bus.
    NODE_EXTRA_CA_CERTS: caFile,
    ...(site && { GATEWAY_SITE: site.name }),
    ...plane.settings,
  }
  if (!('GATEWAY_IMAGES' in plane.settings)) files.stateFolder('images')
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  const example = readFileSync(join(projectRoot, EXAMPLE), 'utf8')
  await files.settings(FILES.gatewayEnv, () => lines.join(''), example)
}

function tlsOf({ directory }: Folders) {
  const certificateFile = join(directory, FILES.certificate)
  return { certificateFile, keyFile: join(directory, FILES.key), caFile: authorityIn(directory) }
}

function hostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
