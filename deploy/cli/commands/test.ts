import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { isFailure } from '#common/errors.ts'
import { runChecks, runShown } from '../../checks/run-checks.ts'
import { testCounts } from '../../checks/test-counts.ts'
import { installPackages } from '../../packages/install-packages.ts'
import { homeDirectory } from '../../paths.ts'
import { progress, say } from '../say.ts'

export function addTestCommand(program: Command): void {
  program
    .command('test')
    .description('Check format, lint and types, then run the tests')
    .option('--all', 'Run every path of each hypervisor and client, not only one')
    .argument('[vitest...]', 'passed on to vitest: files, -t NAME, --project NAME')
    .passThroughOptions()
    .allowUnknownOption()
    .action(test)
}

async function test(vitest: readonly string[], options: { readonly all?: true }): Promise<void> {
  const isAll = options.all === true
  await installPackages(['base'], progress)
  await installPeers(isAll)
  const failedChecks = await runChecks(progress)
  mkdirSync(homeDirectory, { recursive: true, mode: 0o700 })
  const resultsFile = join(homeDirectory, 'test-results.json')
  rmSync(resultsFile, { force: true })
  const code = await runShown(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${resultsFile}`,
      ...vitest,
    ],
    { ...process.env, ...(isAll ? { WEIR_TEST_ALL: '1' } : {}) },
  )
  if (failedChecks.length > 0) say(`Failed checks: ${failedChecks.join(', ')}`)
  const { passed, failed, skipped } = testCounts(resultsFile)
  say(`${passed} passed, ${failed + failedChecks.length} failed, ${skipped} skipped`)
  process.exitCode = failedChecks.length > 0 ? 1 : code
}

const USUAL = [
  ...(['libvirt', 'docker', 'ovn', 'baremetal', 'machines', 'clients'] as const),
  ...(['control-plane', 'monitoring'] as const),
] as const
const LARGE = [
  'ansible',
  'browser',
  'ceph',
  'fencing',
  'gluster',
  'horizon',
  'ironic',
  'iscsi',
  'keystone',
  'messaging',
  'placement',
  'release',
] as const

/**
 * Hypervisors and clients to test against; Ansible, a browser, Ceph, fence agents, GlusterFS, a target of iSCSI, ironic, Keystone, Placement, RabbitMQ and what makes a release, which are large, for the long way only. Where they
 * cannot be had their tests are skipped, unless they must run.
 */
async function installPeers(isAll: boolean): Promise<void> {
  const must = isAll || process.env['CI'] === 'true'
  try {
    const large = isAll ? LARGE : []
    await installPackages([...USUAL, ...large], progress)
  } catch (error) {
    if (must || !isFailure(error, 'unavailable')) throw error
    say(`Not tested against real hypervisors and clients: ${error.message}`)
  }
}
