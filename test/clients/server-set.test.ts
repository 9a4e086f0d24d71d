import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { type Listening, listen } from '#gateway/listen.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'

const SHOW = '--os-compute-api-version 2.90 server show second'
const why = whyNoOpenstack()

let world: BootWorld
let listening: Listening
let demo: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  world = await bootWorld('server_set')
  const { gateway } = world.api
  const password = randomBytes(12).toString('base64url')
  await bootstrapIdentity(gateway.db, { adminPassword: password, demoPassword: password })
  listening = await listen(gateway)
  const endpoint = `http://127.0.0.1:${listening.port}`
  demo = new OpenstackCli(endpoint, { user: 'demo', password, project: 'demo' }, '')
})

afterAll(async () => {
  await listening?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

describe.skipIf(why !== undefined)(`the openstack command (${why ?? 'installed'})`, () => {
  test('renames, describes, labels and tags a server, and takes it back', async () => {
    await demo.run('server create --wait --image tiny --flavor m1.tiny --network private first')

    const labels = '--property role=web --property tier=1 --tag a --tag b'
    await demo.run(
      `--os-compute-api-version 2.90 server set --name second --description ours ${labels} first`,
    )

    expect(await demo.json(SHOW)).toMatchObject({
      name: 'second',
      description: 'ours',
      properties: { role: 'web', tier: '1' },
      tags: ['a', 'b'],
    })

    const gone = '--property tier --tag a --description'
    await demo.run(`--os-compute-api-version 2.90 server unset ${gone} second`)

    expect(await demo.json(SHOW)).toMatchObject({ properties: { role: 'web' }, tags: ['b'] })
  })
})
