import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { UplinkSettings } from '#cells/uplink.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type {
  CellRecord,
  DeploymentState,
  HostRecord,
  ServicesElsewhere,
} from '../deployment/state.ts'
import { certificateFile } from '../join/uplink.ts'
import { metricsTokenFile } from '../monitoring/write-monitoring.ts'
import { accountSeedFile } from '../nats/nats-keys.ts'
import { cloudSettings } from '../nested/cloud-login.ts'
import type { DeploymentNetwork } from '../ovn/deployment-network.ts'
import { cellProgram } from '../processes/cell.ts'
import { computeProgram } from '../processes/compute.ts'
import { gatewayProgram, type TlsFiles } from '../processes/gateway.ts'
import type { Program } from '../processes/program.ts'
import { endpointsOf } from './exposed.ts'
import { type BusCredentials, cellSeedFile } from './prepare-bus.ts'
import type { DatabaseFiles } from './prepare-databases.ts'
import type { Bus } from './services.ts'

const KEY_BYTES = 32

/** The addresses and secrets of a deployment's programs, besides the settings of the state. */
export interface Wiring {
  readonly bus: Bus
  readonly credentials: BusCredentials
  readonly databases: DatabaseFiles
  /** Undefined where hosts have bridges of their own. */
  readonly network?: DeploymentNetwork | undefined
}

/** The same for a deployment without gateways. */
export interface CellWiring {
  readonly bus: Pick<Bus, 'url'>
  /** Of a cell that has joined a deployment elsewhere. */
  readonly uplink?: UplinkSettings
  readonly credentials: Pick<BusCredentials, 'of'>
  readonly databases: Pick<DatabaseFiles, 'cells'>
  readonly network?: DeploymentNetwork | undefined
}

/** Gateways and cells: what serves without a hypervisor. */
export async function serverPrograms(
  layout: Layout,
  state: DeploymentState,
  wiring: Wiring,
): Promise<readonly Program[]> {
  const { bus, credentials, databases } = wiring
  const secretKeyFile = await gatewayKeyFile(layout)
  const tokenFile = await metricsTokenFile(layout)
  const gateways = state.gateways.map((gateway, nth) =>
    gatewayProgram(state, gateway, {
      tls: nth === 0 ? tlsFiles(layout, state) : undefined,
      databaseUrlFile: databases.gateway,
      natsUrl: bus.url,
      natsCredentialsFile: credentials.gateway,
      natsAccountSeedFile: accountSeedFile(layout.nats, 'gateway'),
      natsLeafUrl: bus.leafUrl,
      natsOperatorSeedFile: bus.operatorSeedFile,
      natsSystemCredentialsFile: credentials.operator,
      natsSystemSeedFile: accountSeedFile(layout.nats, 'system'),
      secretKeyFile,
      imageDirectory: layout.images,
      metricsTokenFile: tokenFile,
      metricsTargets: layout.targets,
      serviceLogs: nth === 0 ? serviceLogs(layout, state.elsewhere) : undefined,
    }),
  )
  return [...gateways, ...(await cellPrograms(layout, state, wiring))]
}

/** The cells alone. */
export async function cellPrograms(
  layout: Layout,
  state: DeploymentState,
  { bus, credentials, databases, uplink, network }: CellWiring,
): Promise<readonly Program[]> {
  const ca = certificateFile(layout)
  return Promise.all(
    state.cells.map(async (cell, nth) =>
      cellProgram(
        cell,
        {
          databaseUrlFile: given(databases.cells, cell.id),
          secretKeyFile: await keyFile(layout, `cell-${cell.name}.key`),
          natsUrl: bus.url,
          natsCredentialsFile: given(credentials.of, cell.id),
          natsAccountSeedFile: cellSeedFile(layout, cell),
          imageUrls: imageUrls(state, nth),
          uplink,
          ovn: network?.centrals.get(cell.id),
          metricsTargets: layout.targets,
          caFile: existsSync(ca) ? ca : undefined,
          // With several gateways, the first one does this.
          serviceLogs: nth === 0 && uplink !== undefined ? serviceLogs(layout) : undefined,
        },
        state.settings,
      ),
    ),
  )
}

/** Of the services that are private. */
function serviceLogs(
  layout: Layout,
  { bus, databases }: ServicesElsewhere = {},
): readonly string[] | undefined {
  const logs = [
    ...(bus === undefined ? [join(layout.nats, 'nats.log')] : []),
    ...(databases === undefined ? [join(layout.mariadb, 'mariadb.log')] : []),
  ]
  return logs.length === 0 ? undefined : logs
}

/** A compute for every host, with the settings of its driver by host id. */
export function computePrograms(
  layout: Layout,
  state: DeploymentState,
  { bus, credentials }: Pick<CellWiring, 'bus' | 'credentials'>,
  driverSettings: ReadonlyMap<string, Readonly<Record<string, string>>>,
): readonly Program[] {
  const ca = certificateFile(layout)
  const compute = (cell: CellRecord, host: HostRecord, nth: number) =>
    computeProgram(
      cell,
      host,
      {
        natsUrl: bus.url,
        natsCredentialsFile: given(credentials.of, host.id),
        natsAccountSeedFile: cellSeedFile(layout, cell),
        imageUrl: imageUrls(state, nth),
        caFile: existsSync(ca) ? ca : undefined,
        stateDirectory: join(layout.hosts, host.name),
        metricsTargets: layout.targets,
        driver: cell.cloud === undefined ? state.driver.name : 'nested',
        driverSettings:
          cloudSettings(layout, cell) ??
          driverSettings.get(host.id) ??
          fakeStore(layout, state, cell),
      },
      state.settings,
    )
  return state.cells.flatMap((cell) => cell.hosts.map((host, nth) => compute(cell, host, nth)))
}

/** The simulated hosts of a cell have their volumes in one folder, so that a server has them on any of these hosts. */
function fakeStore(
  layout: Layout,
  { driver }: DeploymentState,
  { name }: CellRecord,
): Readonly<Record<string, string>> {
  return driver.name === 'fake' ? { volume_store: join(layout.hosts, `volumes-of-${name}`) } : {}
}

/** Of all gateways here; each host and cell asks another one first. */
function imageUrls(state: DeploymentState, nth: number): string {
  const endpoints = endpointsOf(state)
  const first = nth % endpoints.length
  const inOrder = [...endpoints.slice(first), ...endpoints.slice(0, first)]
  return inOrder.map((endpoint) => `${endpoint}/image`).join(',')
}

function tlsFiles(layout: Layout, { exposed }: DeploymentState): TlsFiles | undefined {
  if (exposed === undefined) return undefined
  const { certificateFile, certificateKeyFile: keyFile } = layout
  return { ...exposed, certificateFile, keyFile }
}

/** The key with which gateways seal secrets. */
export function gatewayKeyFile(layout: Layout): Promise<string> {
  return keyFile(layout, 'gateway.key')
}

/** The path of a key that is made once: what it has sealed opens with no other. */
function keyFile(layout: Layout, name: string): Promise<string> {
  return secretFile(layout, name, () => randomBytes(KEY_BYTES).toString('hex'))
}

function given(map: ReadonlyMap<string, string>, id: string): string {
  const value = map.get(id)
  if (value === undefined) throw new Error(`No directory or address was prepared for ${id}`)
  return value
}
