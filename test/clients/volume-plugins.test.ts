import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compiledDirectory } from '#deploy/paths.ts'
import { activeServer } from '#test/env/api/servers.ts'
import { clientSettings, runClient, type Settings, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: what the Cinder plugin of Kubernetes (CSI) and Terraform ask of volumes is answered as they expect it. Neither can be
// installed everywhere: gophercloud, the library of both, makes their calls in their order.

const GO = '/usr/bin/go'
const SOURCES = '/usr/share/gocode'
const PROGRAM = new URL('gophercloud/volumes', import.meta.url).pathname
const BUILD_LIMIT_MS = 400_000
const LIMIT_MS = 300_000

const why = whyNoClient('golang-go', GO) ?? whyNoClient('golang-github-gophercloud-gophercloud-dev')

describe.skipIf(!isFullRun || why !== undefined)(
  `programs that keep volumes with gophercloud (${why ?? 'installed'})`,
  () => {
    let cloud: Cloud
    let program: string
    let settings: Settings

    beforeAll(async () => {
      cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
      await storesReported(cloud)
      const { directory, accounts } = cloud.foundation
      const demo = cloud.as('demo')
      program = join(directory, 'volume-plugins')
      settings = {
        ...clientSettings(`${cloud.endpoints[0]}/identity/v3`, accounts.demo),
        IMAGE: cloud.catalog.image,
        FLAVOR: cloud.catalog.tiny,
        NETWORK: cloud.catalog.network,
        ZONE: 'north',
        SERVER: (await activeServer(cloud, demo, { name: 'node-1' })).id,
        OTHER_SERVER: (await activeServer(cloud, demo, { name: 'node-2' })).id,
      }
      const build = { GOPATH: SOURCES, GO111MODULE: 'off', GOCACHE: compiledDirectory }
      const files = ['main.go', 'csi.go', 'terraform.go'].map((name) => join(PROGRAM, name))
      await runClient(
        GO,
        ['build', '-o', program, ...files],
        { ...settings, ...build },
        BUILD_LIMIT_MS,
      )
    }, BUILD_LIMIT_MS)

    afterAll(() => cloud?.[Symbol.asyncDispose]())

    const walk = async (who: 'csi' | 'terraform') =>
      JSON.parse(await runClient(program, [who], settings, LIMIT_MS)) as unknown

    test(
      'a claim of Kubernetes is made, published, extended, kept, restored, moved to another node and removed',
      async () => {
        expect(await walk('csi')).toEqual({
          before: 0,
          made: [1, 'north', { 'cinder.csi.openstack.org/cluster': 'kubernetes' }],
          again: 1,
          published: '/dev/vdb',
          elsewhere: 400,
          snapshot_unforced: 400,
          snapshots: ['snapshot-1'],
          snapshots_by_name: ['snapshot-1'],
          sizes: [2, 3],
          pages: [['pvc-0c9d1f3e', 'pvc-restored'], ['pvc-cloned']],
          moved: true,
          used: 0,
          removed_again: 404,
        })
      },
      LIMIT_MS,
    )

    test(
      'resources of Terraform are made, changed in place, found, used and removed',
      async () => {
        expect(await walk('terraform')).toEqual({
          made: ['tf-volume', 1, 'of a plan', { a: 'b' }, 'false'],
          changed: ['tf-renamed', 2, 'of another plan', { c: 'd' }, 'true'],
          attached: true,
          in_use: 400,
          snapshots: ['tf-snapshot'],
          found: ['tf-renamed'],
          types: [],
          booted: 3,
          left: 0,
        })
      },
      LIMIT_MS,
    )
  },
)
