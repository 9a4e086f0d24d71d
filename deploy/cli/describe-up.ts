import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { endpointOf } from '../up/exposed.ts'
import type { UpResult } from '../up/up.ts'

/** What `./weir up` says at its end. Passwords are shown when they are new, and only then. */
export function describeUp(layout: Layout, { state, what }: UpResult): readonly string[] {
  const headline = {
    already: 'Weir is up already; nothing was changed.',
    created: 'Weir is up.',
    started: 'Weir is up again.',
  }[what]
  return [
    '',
    headline,
    '',
    `  Endpoint     ${endpointOf(state)}/identity/v3   (region ${state.region})`,
    `  Reference    ${endpointOf(state)}/docs`,
    ...state.gateways
      .slice(1)
      .map(({ name, port }) => `  ${name.padEnd(12)} http://127.0.0.1:${port}`),
    ...(state.exposed === undefined
      ? []
      : [
          `  Elsewhere    https://${state.exposed.address}:${state.exposed.port}   (certificate ${layout.certificateFile})`,
        ]),
    ...describeCells(state),
    `  clouds.yaml  ${layout.cloudsFile}`,
    ...(what === 'created' ? passwords(layout) : []),
    '',
    'Try:',
    '  eval "$(./weir env)"',
    ...(state.cells.length === 0 ? ['  ./weir cell token create north'] : tryServers(state)),
    '',
  ]
}

function describeCells({ cells, driver }: DeploymentState): readonly string[] {
  if (cells.length === 0) return ['  Cells        none; they join with ./weir cell join']
  const hosts = cells.flatMap((cell) => cell.hosts).length
  return [
    `  Driver       ${driver.name}: ${driver.why}`,
    ...(driver.guests === undefined ? [] : [`  Guests       ${driver.guests}`]),
    `  Cells        ${cells.map(({ name }) => name).join(', ')}   (${hosts} ${hosts === 1 ? 'host' : 'hosts'})`,
  ]
}

function tryServers({ driver, network }: DeploymentState): readonly string[] {
  return [
    '  openstack server list',
    `  openstack server create --flavor ${driver.name === 'baremetal' ? 'metal.tiny' : 'm1.tiny'} --image tiny --network private --wait second`,
    '  ./weir why second --os-cloud weir-admin',
    // A container of the demo has no SSH server.
    ...(network === 'ovn' && driver.name !== 'docker' ? ['  ./weir ssh first'] : []),
  ]
}

function passwords(layout: Layout): readonly string[] {
  return (['weir', 'weir-admin'] as const).map((name) => {
    const { userName, password } = cloudAccount(layout, name)
    return `  ${name.padEnd(12)} user ${userName}, password ${password}   (not shown again)`
  })
}
