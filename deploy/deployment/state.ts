import { existsSync, readFileSync } from 'node:fs'
import { Failure } from '#common/errors.ts'
import type { CellId, HostId } from '#common/ids.ts'
import type { OwnedCellAccount } from '#gateway/bus/create-cell-account.ts'
import type { HostShare } from '../hypervisors/host-share.ts'
import type { LaunchedDriver } from '../hypervisors/launched-driver.ts'
import type { ProcessIdentity } from '../process/process-identity.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import type { Layout } from './layout.ts'
import type { ProgramSettings } from './program-settings.ts'

/** The parts of one deployment. Written when it is planned; only `processes` and `isReady` change later. */
export interface DeploymentState {
  readonly version: typeof STATE_VERSION
  readonly driver: ChosenDriver
  /** What joins the guests of its hosts; absent: each host has bridges of its own. */
  readonly network?: 'ovn'
  /** This machine itself reaches floating IPs. */
  readonly hostRoute?: true
  readonly region: string
  readonly gateways: readonly GatewayRecord[]
  readonly cells: readonly CellRecord[]
  /** The services that somebody else runs; absent: all are private. */
  readonly elsewhere?: ServicesElsewhere
  /** Where cells and clients of other machines are served; absent: nowhere. */
  readonly exposed?: ExposedAddress
  /** Set for a cell of a deployment elsewhere, which has no gateway here. */
  readonly joined?: JoinedDeployment
  /** Set where this is one host of a cell elsewhere: there is neither gateway nor cell here then. */
  readonly host?: JoinedHost
  /** By program name, as last started. */
  readonly processes: Readonly<Record<string, StartedProgram>>
  /** The size of every host that runs real servers: chosen once, so that later use of the machine does not shrink it. */
  readonly hostShare?: HostShare
  /** Of its programs, as chosen with `--set`. */
  readonly settings?: ProgramSettings
  /** True once the demo's flavors, image, network and first server were made. */
  readonly isReady: boolean
}

export interface ServicesElsewhere {
  /** `HOST:PORT` of each database server; the URL with its account is a secret. */
  readonly databases?: readonly string[]
  readonly bus?: {
    /** Of each server, with commas between them. */
    readonly url: string
    /** Where it takes leaf nodes; absent: nowhere that joined cells could be led to. */
    readonly leafUrl?: string
  }
}

/** An address of this machine, and the port of HTTPS there. */
export interface ExposedAddress {
  readonly address: string
  readonly port: number
}

/** The deployment elsewhere that a cell belongs to. */
export interface JoinedDeployment {
  /** Without a slash at its end. */
  readonly gatewayUrl: string
  /** Where its bus takes that of the cell. */
  readonly leafUrl: string
}

/** A host, and the cell elsewhere that it belongs to. */
export interface JoinedHost extends HostRecord {
  readonly cell: { readonly id: CellId; readonly name: string }
  /** Without a slash at its end. */
  readonly gatewayUrl: string
  /** Where its compute reaches the bus. */
  readonly busUrl: string
  /** The image service, without a slash at its end. */
  readonly imageUrl: string
}

export interface ChosenDriver {
  readonly name: LaunchedDriver
  /** For people: why this one. */
  readonly why: string
  /** For people: how real guests run, and why so; known once hosts were started. */
  readonly guests?: string
  /** The settings its hosts were given when they were made; absent: everything they need was made here. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface StartedProgram extends ProcessIdentity {
  /** The digest of the settings with which the program was started. */
  readonly settingsDigest: string
}

export interface GatewayRecord {
  readonly name: string
  readonly port: number
}

export interface CellRecord {
  readonly id: CellId
  readonly name: string
  /** On the bus that is started here. */
  readonly account: OwnedCellAccount
  readonly hosts: readonly HostRecord[]
  /** Of a cell whose one host is a project of another cloud; absent: its hosts run what the deployment runs. */
  readonly cloud?: CloudRecord
}

export interface CloudRecord {
  /** Of the driver `nested`, without its login. */
  readonly settings: Readonly<Record<string, string>>
  /** The project that its servers are in, by its id there; absent from a cell that joined before this was kept. */
  readonly projectId?: string
}

export interface HostRecord {
  readonly id: HostId
  readonly name: string
}

const STATE_VERSION = 1

type StoredState = Omit<DeploymentState, 'version'> & { readonly version: number }

/** The deployment of this folder, or undefined. Throws when another version of Weir wrote it. */
export function loadState(layout: Layout): DeploymentState | undefined {
  if (!existsSync(layout.stateFile)) return undefined
  const { version, ...rest } = JSON.parse(readFileSync(layout.stateFile, 'utf8')) as StoredState
  if (version !== STATE_VERSION)
    throw new Error(`${layout.stateFile} has version ${version}; this Weir reads ${STATE_VERSION}`)
  return { version, ...rest }
}

/** The deployment of this folder; throws when there is none. */
export function existingState(layout: Layout): DeploymentState {
  const state = loadState(layout)
  if (state === undefined)
    throw new Failure('not-found', 'Nothing is deployed here. Run: ./weir up')
  return state
}

/** Afterwards `state.json` has this state, or still the former one if the process ended meanwhile. */
export function saveState(layout: Layout, state: DeploymentState): void {
  writeFileAtomically(layout.stateFile, `${JSON.stringify(state, null, 2)}\n`)
}

/** The cells whose hosts the launcher starts: other cells have hosts that it does not manage. */
export function launchedCells({ cells }: Pick<DeploymentState, 'cells'>): readonly CellRecord[] {
  return cells.filter(({ cloud }) => cloud === undefined)
}

/** The hosts that the launcher starts, of whichever cell. */
export function launchedHosts(
  state: Pick<DeploymentState, 'cells' | 'host'>,
): readonly HostRecord[] {
  const ofCells = launchedCells(state).flatMap(({ hosts }) => hosts)
  return state.host === undefined ? ofCells : [...ofCells, state.host]
}
