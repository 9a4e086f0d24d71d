import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { readRelease } from '#common/release.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { projectRoot } from '#deploy/paths.ts'
import { BareDebian, PACKAGE_NEEDS } from '#test/env/bare-debian.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { notTyped, pageScript } from './page-script.ts'

// Goal: what the page about packages tells to type works as it stands: builds in this checkout, the rest in a bare Debian.

const LIMIT_MS = 600_000
const INSTALL = `apt install ./weir_${readRelease()}_amd64.deb`
const ENABLE = 'systemctl enable --now weir-gateway weir-cell@north weir-compute@north-1'

const PAGE = pageScript('docs/how-to/packages.md', {
  [INSTALL]: { typed: INSTALL.replace('install', 'install --yes --no-install-recommends') },
  [ENABLE]: { typed: ENABLE.replace('--now ', '') },
  [`skopeo copy oci:dist/weir-image:${readRelease()} docker://registry.example.org/weir:${readRelease()}`]:
    { notTyped: 'There is no registry.' },
  ...notTyped('No container engine runs here; deploy/release/manifests.test.ts checks the file.', [
    'WEIR_USER=$(id -u):$(id -g) docker compose -p weir -f deploy/compose/compose.yaml up -d',
  ]),
  ...notTyped('No Kubernetes runs here; deploy/release/manifests.test.ts checks the manifests.', [
    'kubectl create namespace weir',
    'kubectl -n weir create secret generic weir --from-file=keys',
    'kubectl apply -k deploy/kubernetes',
  ]),
})

describe.skipIf(!isFullRun || !BareDebian.canRun())('docs/how-to/packages.md', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-package-page-'))
  let debian: BareDebian

  beforeAll(async () => {
    debian = await BareDebian.with(PACKAGE_NEEDS)
  }, LIMIT_MS)

  afterAll(async () => {
    await debian?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  /** Builds go to a folder of the test. */
  async function build(line: string): Promise<void> {
    const args = line.split(' ').slice(1)
    const place = join(directory, args.at(-1)?.replace(':', '-') ?? '')
    await runTool('npm', [...args, '--', place], { limitMs: LIMIT_MS, directory: projectRoot })
    if (line !== 'npm run package:deb') return
    const file = `weir_${readRelease()}_amd64.deb`
    copyFileSync(join(place, file), debian.path(`root/${file}`))
  }

  /** As in a clone, whose folders are in that of the test. */
  async function keys(line: string): Promise<void> {
    const [weir = '', ...args] = line.split(' ')
    await runTool(join(projectRoot, weir), args, { limitMs: LIMIT_MS, directory })
  }

  const typed = PAGE.steps.filter(({ notTyped }) => notTyped === undefined)
  test.each(typed)(
    '$line',
    async ({ line, typed: filled }) => {
      if (line.startsWith('npm ')) await build(line)
      else if (line.startsWith('./weir ')) await keys(line)
      else await debian.run('env', '-C', '/root', 'sh', '-c', filled ?? line)
    },
    LIMIT_MS,
  )
})
