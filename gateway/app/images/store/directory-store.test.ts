import { open } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { IncomingFile } from './directory-store.ts'

test('content that the disk has no room for is refused as unavailable', async () => {
  await using incoming = new IncomingFile(
    await open('/dev/full', 'w'),
    '/nonexistent/full',
    () => '',
  )

  await expect(incoming.write(Buffer.alloc(65_536))).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The image store has no room left: its disk is full.',
  })
})
