import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { endpointOf } from '../up/exposed.ts'
import type { UpResult } from '../up/up.ts'

/** What `./weir up` says at its end. Passwords are shown when they are new, and only then. */
export function describeUp(layout: Layout, { state, what }: UpResult): readonly string[] {
  const hosts = state.cells.flatMap((cell) => cell.hosts).length
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
    `  Driver       ${state.driver.name}: ${state.driver.why}`,
    ...(state.driver.guests === undefined ? [] : [`  Guests       ${state.driver.guests}`]),
    `  Cells        ${state.cells.map(({ name }) => name).join(', ')}   (${hosts} ${hosts === 1 ? 'host' : 'hosts'})`,
    `  clouds.yaml  ${layout.cloudsFile}`,
    ...(what === 'created' ? passwords(layout) : []),
    '',
    'Try:',
    '  eval "$(./weir env)"',
    '  openstack server list',
    `  openstack server create --flavor ${state.driver.name === 'baremetal' ? 'metal.tiny' : 'm1.tiny'} --image tiny --network private --wait second`,
    '  ./weir why second --os-cloud weir-admin',
    // A container of the demo has no SSH server.
    ...(state.network === 'ovn' && state.driver.name !== 'docker' ? ['  ./weir ssh first'] : []),
    '',
  ]
}

function passwords(layout: Layout): readonly string[] {
  return (['weir', 'weir-admin'] as const).map((name) => {
    const { userName, password } = cloudAccount(layout, name)
    return `  ${name.padEnd(12)} user ${userName}, password ${password}   (not shown again)`
  })
}
