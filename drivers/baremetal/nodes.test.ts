import { expect, test } from 'vitest'
import { type NetworkId, newId, type PortId } from '#common/ids.ts'
import { startMetal } from '#test/env/metal.ts'
import type { NicSpec } from '../driver.ts'

const LIMIT_MS = 60_000
const NIC = '52:54:00:12:35:01'
const signal = () => AbortSignal.timeout(LIMIT_MS)

function port(segment?: string): NicSpec {
  return {
    ...{ portId: newId<PortId>(), networkId: newId<NetworkId>(), mtu: 1_500, fixedIps: [] },
    macAddress: 'fa:16:3e:00:00:01',
    ...(segment !== undefined && { segment }),
  }
}

test('on OVN servers get the NICs that a machine was added with, and inspection looks for them', async () => {
  await using metal = await startMetal({ network: 'ovn' })
  const { driver, machine, images } = metal
  const nodes = driver.nodes!
  expect(await driver.inventory(signal())).toMatchObject({ machineSegments: [] })
  const nics = [{ macAddress: NIC, segment: 'SITE:7' }]

  await nodes.remove('machine', signal())
  await nodes.add({ ...machine.enrolment, nics }, signal())
  expect(await metal.untilNode('inspect-failed')).toMatchObject({
    nics,
    failure: expect.stringContaining(`does not have NIC ${NIC}`),
  })
  machine.furtherMacs = [NIC]
  await nodes.inspect('machine', signal())
  await metal.untilNode('available')
  expect(machine.script).toContain(`weir.nic=${machine.enrolment.macAddress} `)
  expect(await driver.inventory(signal())).toMatchObject({ machineSegments: ['SITE:7'] })

  const [own, tenant] = [port('SITE:7'), port()]
  const spec = metal.spec(images.add(Buffer.alloc(4_096, 'the image')))
  for (const ports of [[tenant], [own, port('SITE:7')]])
    await expect(driver.spawn({ ...spec, nics: ports }, signal())).rejects.toMatchObject({
      kind: 'no-capacity',
    })
  await driver.spawn({ ...spec, nics: [own] }, signal())
  const given = await driver.machineNics!.macAddresses(spec.id, [own], signal())
  expect([...given]).toEqual([[own.portId, NIC]])
})

test.each([
  ['host', NIC, 'SITE', 'network=ovn only'],
  ['ovn', '52:54:00:12:36:01', 'SITE', 'boots the machine'],
  ['ovn', NIC, 'provisioning', 'from which machines boot'],
  ['ovn', NIC, 'provisioning:7', 'from which machines boot'],
] as const)('with network=%s NIC %s on %s is refused', async (network, mac, segment, reason) => {
  await using metal = await startMetal({ network })
  const node = { name: 'other', macAddress: '52:54:00:12:36:01', usesEfi: false }
  const adding = metal.driver.nodes!.add(
    { ...node, nics: [{ macAddress: mac, segment }] },
    signal(),
  )

  await expect(adding).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining(reason),
  })
  expect(await metal.driver.nodes!.list(signal())).toHaveLength(1)
})
