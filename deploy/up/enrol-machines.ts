import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '../api/session.ts'
import { DEMO_MACHINE_CLASS, DEMO_MACHINE_FLAVOR } from '../catalog/ensure-flavors.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedCells } from '../deployment/state.ts'
import { DEMO_IMAGE } from '../hypervisors/demo-image.ts'
import { machinesDirectory } from '../hypervisors/prepare-baremetal-hosts.ts'
import { type DemoMachine, demoMachines } from '../machine/demo-machines.ts'
import { SITE } from '../ovn/deployment-network.ts'

/** Emulated machines boot twice before a server gets them. */
const READY_MS = 900_000

/** Afterwards every simulated machine is its host's, and a server could have one of each host's now. */
export async function enrolMachines(
  admin: Session,
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  const hosts = launchedCells(state).flatMap((cell) => cell.hosts)
  for (const { id, name } of hosts)
    for (const machine of demoMachines(machinesDirectory(layout, name))) {
      const { address, port, user, password } = machine.bmc
      const body = {
        name: machine.name,
        mac_address: machine.macAddress,
        resource_class: DEMO_MACHINE_CLASS,
        ...nicsOf(machine),
        bmc: { address, port, user, password },
      }
      await callApi(admin, { method: 'POST', path: nodesOf(id), body })
    }
  progress('Inspecting and cleaning the machines, which boot a ramdisk for each ...')
  const flavor = DEMO_MACHINE_FLAVOR.name
  for (const { name } of hosts)
    await waitFor(
      `a machine of ${name} to be ready`,
      async () => {
        const body = { flavor, image: DEMO_IMAGE, host: name }
        const call = { method: 'POST', path: '/federation/v1/placements', body } as const
        return (await callApi<{ readonly host: string | null }>(admin, call)).host !== null
      },
      READY_MS,
    )
}

/** Nothing for a machine that has no NIC but the one by which it boots. */
function nicsOf({ siteMacAddress }: DemoMachine): object {
  return siteMacAddress === undefined
    ? {}
    : { nics: [{ mac_address: siteMacAddress, segment: SITE }] }
}

function nodesOf(hostId: string): string {
  return `/federation/v1/hosts/${hostId}/nodes`
}
