import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Pacemaker } from './pacemaker.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-pacemaker-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { signal } = new AbortController()

// Recorded from stonith_admin of Pacemaker 2.1.5.
const answer = (code: number, body: string, error = '') =>
  `<pacemaker-result api-version="2.25" request="stonith_admin">${body}<status code="${code}" message="">${
    error === '' ? '' : `<errors><error>${error}</error></errors>`
  }</status></pacemaker-result>`
const DEVICES =
  '<list name="registered fence devices" count="1"><item name="device">dev1</item></list>'
const NO_DEVICES = '<list name="registered fence devices" count="0"/>'
const event = (change: string) =>
  `<fence_event target="north-1" origin="here" delegate="here" ${change}/>`
const history = (...events: readonly string[]) =>
  answer(0, `<list name="fencing history" count="${events.length}">${events.join('')}</list>`)
const OLDER = event(
  'action="off" client="stonith_admin.6252" status="success" completed="2026-11-28 19:35:22Z"',
)
const SUCCESS = event(
  'action="off" client="stonith_admin.6282" status="success" completed="2026-11-28 19:35:23Z"',
)

interface Answers {
  readonly list?: string
  readonly fence?: string
  readonly before?: string
  readonly after?: string
}

/** A cluster that answers so; the history is another once it was asked to fence. */
function cluster({ list = '', fence = answer(0, ''), before = history(), after = '' }: Answers) {
  for (const [name, text] of Object.entries({ list, fence, before, after }))
    writeFileSync(join(folder, name), text)
  rmSync(join(folder, 'fenced'), { force: true })
  writeFileSync(join(folder, 'asked'), '')
  const program = join(folder, 'stonith_admin')
  writeFileSync(
    program,
    `#!/bin/sh
cd ${folder} && echo "$@" >> asked
case $1 in
  --list) cat list; grep -q 'code="0"' list ;;
  --fence) touch fenced; cat fence; grep -q 'code="0"' fence ;;
  --history) if [ -e fenced ]; then cat after; else cat before; fi ;;
esac
`,
  )
  chmodSync(program, 0o755)
  return new Pacemaker({ node: 'north-1', program })
}

test('a node is off once the history of the cluster has a new success', async () => {
  await cluster({ after: history(SUCCESS) }).off(signal)
  expect(readFileSync(join(folder, 'asked'), 'utf8').trimEnd().split('\n')).toEqual([
    '--history north-1 --verbose --output-as xml',
    '--fence north-1 --timeout 120 --output-as xml',
    '--history north-1 --verbose --output-as xml',
  ])

  await cluster({ before: history(OLDER), after: history(SUCCESS, OLDER) }).off(signal)
})

test.each([
  ['has nothing', history()],
  ['has what it had', history(OLDER)],
  ['has a failure', history(event('action="off" client="c" status="failed"'), OLDER)],
  [
    'has a node that was started again',
    history(event('action="reboot" client="c" status="success"')),
  ],
  ['has another node', history(SUCCESS.replace('north-1', 'north-2'))],
])('a node is not off while the history %s', async (_what, after) => {
  const off = cluster({ before: history(OLDER), after }).off(signal)
  await expect(off).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The history of the cluster has no success in powering north-1 off.',
  })
})

test('what the cluster says of a failure is told', async () => {
  const said = "stonith_admin: Couldn't fence north-1: No such device"
  const off = cluster({ fence: answer(105, '', said), after: history(SUCCESS) }).off(signal)
  await expect(off).rejects.toMatchObject({
    ...{ kind: 'unavailable', message: "Couldn't fence north-1: No such device." },
  })
})

test('a cluster without a device for the node, or that is not there, is found out before', async () => {
  expect(await cluster({ list: answer(0, DEVICES) }).problem(signal)).toBeNull()
  expect(await cluster({ list: answer(0, NO_DEVICES) }).problem(signal)).toBe(
    'The cluster has no fence device for a node north-1.',
  )
  const away = answer(102, '', 'Could not connect to fencer: Transport endpoint is not connected')
  expect(await cluster({ list: away }).problem(signal)).toBe(
    'Could not connect to fencer: Transport endpoint is not connected.',
  )
  const gone = new Pacemaker({ node: 'north-1', program: join(folder, 'gone') })
  expect(await gone.problem(signal)).toBe('stonith_admin is not installed.')
})
