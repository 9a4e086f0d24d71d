import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { sampleBuild } from '../../test/env/sample-build.ts'
import { configDriveFiles } from './config-drive.ts'

test('a file of the user is on the drive, and its path in the metadata', () => {
  const file = { path: '/etc/motd', contents: Buffer.from('hello').toString('base64') }

  const drive = configDriveFiles(newId(), sampleBuild({ files: [file] }))

  expect(Buffer.from(drive['openstack/content/0000']!).toString()).toBe('hello')
  const metadata = JSON.parse(Buffer.from(drive['openstack/latest/meta_data.json']!).toString())
  expect(metadata).toMatchObject({
    files: [{ content_path: '/content/0000', path: '/etc/motd' }],
  })
})
