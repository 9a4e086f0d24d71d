import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { endOf, readCredential } from '#common/bus/credential.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { UPLINK_CREDENTIALS } from '../join/uplink.ts'
import type { Finding } from './finding.ts'

/** Whether the bus still takes what this machine's programs have to show. `now` in milliseconds since the epoch. */
export function examineCredentials(
  layout: Layout,
  state: DeploymentState,
  now: number,
): readonly Finding[] {
  const names = readdirSync(layout.secrets).filter((name) => name.endsWith('.creds'))
  const ends = names.map((name) => {
    return { name, end: endOf(readCredential(join(layout.secrets, name))) }
  })
  const ended = ends.filter(({ end }) => end !== undefined && end <= now)
  if (ended.length > 0)
    return ended.map(({ name, end }) => {
      return { is: 'bad', what: `${name} ended at ${timeOf(end)}: ${remedy(name, state)}` }
    })
  const first = ends
    .filter(({ end }) => end !== undefined)
    .toSorted((a, b) => Number(a.end) - Number(b.end))[0]
  if (first === undefined) return []
  return [
    {
      is: 'ok',
      what: `bus credentials are good; ${first.name} ends at ${timeOf(first.end)} unless renewed`,
    },
  ]
}

function timeOf(end: number | undefined): string {
  return end === undefined ? 'no time' : new Date(end).toISOString()
}

function remedy(name: string, { cells, host }: DeploymentState): string {
  if (name !== UPLINK_CREDENTIALS) return './weir up makes it again'
  const [what, subject] =
    host === undefined
      ? ['cell', cells[0]?.name]
      : ['host', `${host.cell.name} --host ${host.name}`]
  return `run ./weir cell token create ${subject} --renew at the gateway, then join again here with that token: ./weir ${what} join --gateway URL --token-file FILE`
}
