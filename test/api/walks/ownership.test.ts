import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DocumentName } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { meantBody } from './meant.ts'
import { messageOf } from './message-of.ts'
import { type WalkWorld, walkWorld } from './walk-world.ts'
import { isRead, NOBODY, pathOf, WALKED, type Walked } from './walked.ts'

let world: WalkWorld

beforeAll(async () => {
  world = await walkWorld()
})

afterAll(() => world?.[Symbol.asyncDispose]())

/** Parameters that name what belongs to a project or a user, by service. */
const OWNED: Readonly<Partial<Record<DocumentName, readonly string[]>>> = {
  compute: [
    'flavor_id',
    'floating_ip_id',
    'group_id',
    'image_id',
    'keypair_name',
    'network_id',
    'rule_id',
    'server_group_id',
    'server_id',
  ],
  identity: [
    'application_credential_id',
    'access_rule_id',
    'access_key',
    'credential_id',
    'project_id',
    'trust_id',
    'user_id',
  ],
  image: ['image_id'],
  network: [
    'floatingip_id',
    'network_id',
    'object_id',
    'port_id',
    'rbac_policy_id',
    'router_id',
    'security_group_id',
    'security_group_rule_id',
    'subnet_id',
    'subnetpool_id',
  ],
  placement: ['consumer_uuid'],
  federation: ['server', 'webhook'],
  volume: ['message_id', 'project_id', 'snapshot_id', 'transfer_id', 'type_id', 'volume_id'],
}
/** Operations on what another project offers to everybody who has the key. */
const OFFERED: ReadonlySet<string> = new Set(['acceptTransfer', 'acceptOsVolumeTransfer'])

const owned = ({ service, operation }: Walked) =>
  OFFERED.has(operation.id)
    ? []
    : (OWNED[service] ?? []).filter((parameter) => operation.path.includes(`{${parameter}}`))

const latest = (walked: Walked): Microversion =>
  walked.described.turningPoints(walked.operation).at(-1)!

/** What a member of another project is answered, ids left out. */
async function toldOf(walked: Walked, isThere: boolean, body: unknown): Promise<string> {
  const version = latest(walked)
  const names: string[] = []
  const path = pathOf(walked, (service, parameter) => {
    const real = world.targets(service, parameter, version) ?? NOBODY
    const name = isThere || !owned(walked).includes(parameter) ? real : NOBODY
    names.push(name)
    return name
  })
  const stranger = world.cloud.as('stranger')
  const answer = await stranger.call(walked.operation.method, path, body, { version })
  const message = names.reduce((text, name) => text.replaceAll(name, 'ID'), messageOf(answer.body))
  return `${answer.status} ${message}`
}

/** Everything of the owner that can be read, but for what changes by itself. */
async function seenByOwner(): Promise<ReadonlyMap<string, string>> {
  const seen = new Map<string, string>()
  for (const walked of WALKED) {
    if (!isRead(walked) || owned(walked).length === 0) continue
    const version = latest(walked)
    const path = pathOf(walked, (s, parameter) => world.targets(s, parameter, version) ?? NOBODY)
    const { status, body } = await world.owner.get(path, { version })
    seen.set(walked.id, status < 300 ? JSON.stringify(body) : String(status))
  }
  return seen
}

test("another project's objects get the answer of missing objects, and stay unchanged", async () => {
  const before = await seenByOwner()
  const problems: string[] = []
  for (const walked of WALKED) {
    if (owned(walked).length === 0) continue
    const body = isRead(walked) ? undefined : meantBody(walked, latest(walked), world.targets)
    const there = await toldOf(walked, true, body)
    const absent = await toldOf(walked, false, body)
    if (there !== absent) problems.push(`${walked.id}: '${there}', of nobody's '${absent}'`)
    if (!/^[45]/.test(there)) problems.push(`${walked.id} answers ${there}`)
  }
  expect(problems).toEqual([])
  expect(await seenByOwner()).toEqual(before)
})
