import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { programPath } from '#deploy/process/find-program.ts'
import { clientSettings, runClient, type Settings } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { offerRouting } from '#test/env/network-objects.ts'

// Goal: what Terraform has made it finds as it wrote it, also after changes in place, and removes.

/** Its provider for OpenStack, as a program; no registry that this project uses has it. */
const PROVIDER = process.env['TERRAFORM_OPENSTACK_PROVIDER']
const CONFIGURATION = new URL('terraform/main.tf', import.meta.url).pathname
const SOURCE = 'terraform-provider-openstack/openstack'
const STEP_MS = 900_000

const terraform = programPath('terraform')
const why = whyNoTerraform()

function whyNoTerraform(): string | undefined {
  if (terraform === undefined) return 'no terraform on the PATH'
  if (PROVIDER !== undefined) return undefined
  return 'TERRAFORM_OPENSTACK_PROVIDER does not name the provider'
}

let cloud: Cloud
let directory: string
let env: Settings

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 2, processesPerCell: 1 })
  await offerRouting(cloud)
  const { accounts } = cloud.foundation
  directory = await mkdtemp(join(cloud.foundation.directory, 'terraform-'))
  const plugins = join(directory, 'plugins')
  await mkdir(plugins)
  await symlink(PROVIDER!, join(plugins, 'terraform-provider-openstack'))
  await symlink(CONFIGURATION, join(directory, 'main.tf'))
  // It asks no registry, nor whether there is a newer version.
  const settings = `disable_checkpoint = true
provider_installation {
  dev_overrides { "${SOURCE}" = "${plugins}" }
}
`
  await writeFile(join(directory, 'settings'), settings)
  env = {
    ...clientSettings(`${cloud.endpoints[0]}/identity/v3`, accounts.demo),
    TF_CLI_CONFIG_FILE: join(directory, 'settings'),
    TF_VAR_admin_password: accounts.admin.password,
    CHECKPOINT_DISABLE: '1',
  }
}, 300_000)

afterAll(() => cloud?.[Symbol.asyncDispose]())

const run = (command: string, name: string, ...options: readonly string[]) =>
  runClient(
    terraform!,
    [`-chdir=${directory}`, command, '-no-color', `-var=name=${name}`, ...options],
    env,
    STEP_MS,
  )

test.skipIf(why !== undefined)(
  `Terraform makes, changes and removes objects (${why ?? 'installed'})`,
  async () => {
    for (const name of ['one', 'two']) {
      await run('apply', name, '-auto-approve')
      expect(await run('plan', name)).toContain('No changes.')
    }
    await run('destroy', 'two', '-auto-approve')

    for (const path of ['/compute/v2.1/servers', '/volume/v3/volumes', '/networking/v2.0/routers'])
      expect((await cloud.as('demo').get<Record<string, unknown>>(path)).body).toMatchObject({
        [path.split('/').at(-1)!]: [],
      })
  },
  3 * STEP_MS,
)
