import { newId } from '#common/ids.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import type { UpOptions } from './options.ts'
import type { CellRecord, ChosenDriver, DeploymentState } from './state.ts'

const CELL_NAMES = ['north', 'south', 'east', 'west']
/** Nova's. */
export const DEFAULT_PORT = 8774
const REGION = 'RegionOne'
const DEFAULTS = { cells: 2, gateways: 1 } as const
/** A hypervisor is emulated and heavy, an engine is one per machine, a simulated host costs nothing. */
export const HOSTS_PER_CELL = { baremetal: 1, docker: 1, fake: 2, libvirt: 1 } as const

/** True for a driver whose hosts OVN can join. */
export function canBeJoinedByOvn({ name }: ChosenDriver): boolean {
  return name !== 'fake'
}

/** OVN joins what it can, but for machines: they have the site's network, unless OVN is requested for them. */
function isJoinedByOvn(driver: ChosenDriver, network: UpOptions['network']): boolean {
  if (network !== undefined) return network === 'ovn' && canBeJoinedByOvn(driver)
  return canBeJoinedByOvn(driver) && driver.name !== 'baremetal'
}

/** The names that the cells of a new deployment get. */
export function plannedCellNames({ cells = DEFAULTS.cells }: UpOptions): readonly string[] {
  return Array.from({ length: cells }, (_, index) => CELL_NAMES[index] ?? `cell${index + 1}`)
}

/** A new deployment on paper: ids, names, keys and wanted ports are chosen; nothing is started. */
export async function planDeployment(
  options: UpOptions,
  driver: ChosenDriver,
  gatewayKey: string,
): Promise<DeploymentState> {
  const hosts = options.hosts ?? HOSTS_PER_CELL[driver.name]
  const isJoined = isJoinedByOvn(driver, options.network)
  const cells: CellRecord[] = []
  for (const name of plannedCellNames(options)) cells.push(await planCell(name, hosts, gatewayKey))
  return {
    version: 1,
    driver,
    ...(isJoined && { network: 'ovn' as const }),
    ...(options.hostRoute === true && { hostRoute: true as const }),
    region: REGION,
    gateways: Array.from({ length: options.gateways ?? DEFAULTS.gateways }, (_, index) => ({
      name: `gateway-${index + 1}`,
      port: (options.port ?? DEFAULT_PORT) + index,
    })),
    cells,
    processes: {},
    isReady: false,
  }
}

/** A cell of that many hosts. `gatewayKey` is the public key of the gateways' account. */
export async function planCell(
  name: string,
  hosts: number,
  gatewayKey: string,
): Promise<CellRecord> {
  const id = newId<CellRecord['id']>()
  return {
    id,
    name,
    account: await createCellAccount(id, gatewayKey),
    hosts: Array.from({ length: hosts }, (_, index) => ({
      id: newId(),
      name: `${name}-${index + 1}`,
    })),
  }
}
