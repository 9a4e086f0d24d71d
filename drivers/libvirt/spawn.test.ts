import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { LibvirtHost } from './host.ts'
import { orNothing } from './spawn.ts'

test.each([
  [false, true],
  [true, false],
])(
  'work that lost the daemon says so, and undoes nothing while one of its connections is lost (%s, %s)',
  async (session, slowSession) => {
    const host = { session: { connected: session }, slowSession: { connected: slowSession } }
    const lost = new Failure('unavailable', 'The connection to the hypervisor was lost.')

    const outcome = orNothing(
      host as unknown as LibvirtHost,
      instanceSpec(new TestImages().add(Buffer.from('disk'))),
      () => Promise.reject(lost),
    )

    await expect(outcome).rejects.toBe(lost)
  },
)
