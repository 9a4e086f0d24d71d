import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { thisMachine } from '../machine.ts'
import { GLOBAL_DATABASE, startProduct } from '../product.ts'
import { table } from '../table.ts'
import { interrupted, printLine, progress } from '../terminal.ts'
import { fillFederation } from './fill-federation.ts'
import { measurePage } from './measure-page.ts'
import { type Options, parseOptions } from './options.ts'

// The page at /ui of a large federation, in headless Chromium.

await using owned = new AsyncDisposableStack()
const options = parseOptions(process.argv.slice(2))
const results = await Promise.race([measure(options), interrupted()])
for (const line of report(results)) printLine(line)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)

async function measure({ cells, servers, watchS }: Options) {
  const product = await startProduct(owned, { cells: 1, hosts: 1 }, progress)
  progress(`Writing ${cells} cells and ${servers} servers ...`)
  const site = {
    databaseUrl: product.mariadb.rootUrl(GLOBAL_DATABASE),
    natsUrl: product.nats.url,
    credentialsFile: join(product.layout.secrets, 'gateway.creds'),
    projectId: product.projectId,
  }
  const federation = await fillFederation(owned, site, { cells, servers })
  progress('Opening the page ...')
  const views = await measurePage(product, federation, watchS)
  return { startedAt: new Date().toISOString(), machine: thisMachine(), cells, servers, views }
}

function report({ startedAt, machine, cells, servers, views }: typeof results): readonly string[] {
  return [
    `${startedAt}  ${Object.values(machine).join(', ')}`,
    `${cells} cells, ${servers} servers`,
    '',
    ...table(
      [
        'view',
        'first paint ms',
        'complete ms',
        'frames/s at 100 events/s',
        'longest frame ms',
        'slowest request ms',
        'path',
      ],
      Object.entries(views).map(([name, view]) => [
        name,
        view.firstPaintMs.toFixed(0),
        view.completeMs.toFixed(0),
        view.framesPerSecond.toFixed(1),
        view.longestFrameMs.toFixed(0),
        view.slowest.tookMs.toFixed(0),
        view.slowest.path,
      ]),
    ),
  ]
}
