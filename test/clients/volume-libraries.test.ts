import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'

// Goal: the libraries of Block Storage drive volumes as they drive Cinder's.

const why = whyNoClient('python3-cinderclient') ?? whyNoClient('python3-openstacksdk')

describe.skipIf(!isFullRun || why !== undefined)(
  `libraries of volumes (${why ?? 'installed'})`,
  () => {
    let cloud: Cloud

    beforeAll(async () => {
      cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
    })
    afterAll(() => cloud?.[Symbol.asyncDispose]())

    async function drive(file: string): Promise<unknown> {
      const settings = clientSettings(
        `${cloud.endpoints[0]}/identity/v3`,
        cloud.foundation.accounts.demo,
      )
      const script = new URL(file, import.meta.url).pathname
      return JSON.parse(await runClient('/usr/bin/python3', [script], settings))
    }

    test('openstacksdk makes volumes, copies them, and boots a server from one', async () => {
      expect(await drive('sdk_volume_client.py')).toMatchObject({
        extended: 2,
        listed: ['sdk-1', 'sdk-2'],
        found: true,
        snapshots: ['sdk-snap'],
        booted: { status: 'ACTIVE', image: null, volumes: 2 },
        detached: 'available',
        left: 0,
      })
    })

    test('cinderclient drives volumes, snapshots and transfers', async () => {
      const { body } = await cloud.as('demo').post<{ server: { id: string } }>(
        '/compute/v2.1/servers',
        {
          server: {
            name: 'holder',
            flavorRef: cloud.catalog.tiny,
            imageRef: cloud.catalog.image,
            networks: 'none',
          },
        },
        { version: '2.79' },
      )
      expect(body.server.id).toEqual(expect.any(String))

      expect(await drive('cinder_client.py')).toMatchObject({
        made: { size: 1, metadata: { a: 'b' }, bootable: 'false' },
        extended: 2,
        changed: {
          name: 'cinder-2',
          description: 'renamed',
          bootable: 'true',
          metadata: { c: 'd' },
        },
        image_metadata: [{ hw_disk_bus: 'scsi' }, { hw_disk_bus: 'scsi' }],
        snapshots: [['cinder-snap', 2]],
        pages: [['cinder-2', 'from-snapshot'], ['from-volume']],
        found: ['from-volume'],
        attached: [true],
        attachments: [true],
        in_use: 400,
        transfer: ['awaiting-transfer', true],
        image: 'cinder-image',
        left: 0,
      })
    })
  },
)
