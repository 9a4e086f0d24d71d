import { newId } from '#common/ids.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { freePort } from '../process/free-port.ts'
import type { UpOptions } from './options.ts'
import type { CellRecord, ChosenDriver, DeploymentState, GatewayRecord } from './state.ts'

const CELL_NAMES = ['north', 'south', 'east', 'west']
const PORT_USUAL = 8774
const REGION = 'RegionOne'
const DEFAULTS = { cells: 2, gateways: 1 } as const
/** A hypervisor is emulated and heavy, a simulated host costs nothing. */
const HOSTS_PER_CELL = { fake: 2, libvirt: 1 } as const

/** A new deployment on paper: ids, names, ports and keys are chosen; nothing is started. */
export async function planDeployment(
  options: UpOptions,
  driver: ChosenDriver,
  gatewayKey: string,
): Promise<DeploymentState> {
  const hosts = options.hosts ?? HOSTS_PER_CELL[driver.name]
  const cells: CellRecord[] = []
  for (let index = 0; index < (options.cells ?? DEFAULTS.cells); index += 1)
    cells.push(await planCell(CELL_NAMES[index] ?? `cell${index + 1}`, hosts, gatewayKey))
  return {
    version: 1,
    driver,
    region: REGION,
    gateways: await planGateways(options.gateways ?? DEFAULTS.gateways, options.port),
    cells,
    processes: {},
    isReady: false,
  }
}

async function planCell(name: string, hosts: number, gatewayKey: string): Promise<CellRecord> {
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

/** Each gateway has a port of its own, beginning with the wanted one; a taken port is passed over. */
async function planGateways(count: number, wanted = PORT_USUAL): Promise<GatewayRecord[]> {
  const gateways: GatewayRecord[] = []
  for (let index = 0; index < count; index += 1) {
    const taken = gateways.map(({ port }) => port)
    let port = await freePort(wanted + index)
    while (taken.includes(port)) port = await freePort()
    gateways.push({ name: `gateway-${index + 1}`, port })
  }
  return gateways
}
