import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { createProgram } from '#deploy/cli/program.ts'
import { scriptedOperator } from '#gateway/cli/testing/scripted-operator.ts'

// Goal: every command in a document exists, with every option that the document names.

/** Inline code, and lines of blocks; up to what cannot be part of one command. */
const COMMAND = /(?:^|[`(;&|] *)\.\/weir((?: +(?!#)[^\s`;|&)]+)*)/gm

const PAGES = 'test/documents'
const TYPED = /pageScript\('([^']+)'/g

const program = createProgram(scriptedOperator())

async function documents(): Promise<readonly string[]> {
  const roots = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
  const pages = await readdir('docs', { recursive: true })
  return [
    ...roots,
    ...pages.filter((name) => name.endsWith('.md')).map((name) => join('docs', name)),
  ]
}

/** Why the words are no command; undefined where they are one. */
function wrong(words: readonly string[]): string | undefined {
  let command: Command = program
  let rest = words
  while (rest[0] !== undefined && command.commands.length > 0) {
    const [word, ...others] = rest
    // A page that speaks of any command, or shows its help.
    if (/^<|^…|^\.{3}|^-/.test(word)) return undefined
    const next = command.commands.find((each) => each.name() === word)
    if (next === undefined) return `there is no '${word}' in '${command.name()}'`
    command = next
    rest = others
  }
  // These words go to another program.
  if (command.name() === 'test') return undefined
  const known = new Set(command.options.flatMap(({ short, long }) => [short, long]))
  const unknown = rest
    .filter((word) => /^--?[a-z]/.test(word))
    .map((word) => word.replace(/[=,.:].*$/, ''))
    .filter((word) => word !== '--help' && !known.has(word))
  return unknown.length === 0 ? undefined : `'${command.name()}' has no ${unknown.join(', ')}`
}

test('every command of ./weir that a document names exists, with the options it is given', async () => {
  const found: string[] = []
  const broken: string[] = []
  for (const page of await documents()) {
    const text = await readFile(page, 'utf8')
    for (const [, words = ''] of text.matchAll(COMMAND)) {
      const command = words
        .trim()
        .split(/\s+/)
        .filter((word) => word !== '')
      found.push(command.join(' '))
      const why = wrong(command)
      if (why !== undefined) broken.push(`${page}: ./weir ${command.join(' ')}: ${why}`)
    }
  }

  expect(found.length).toBeGreaterThan(100)
  expect(broken).toEqual([])
})

test('every page with commands for readers is typed by a test', async () => {
  const pages = await readdir('docs', { recursive: true })
  const pagesToRun = pages.filter((name) => /^(how-to|tutorial)\/.*\.md$/.test(name))
  const tests = await readdir(PAGES)
  const texts = await Promise.all(tests.map((name) => readFile(join(PAGES, name), 'utf8')))
  const typed = texts.flatMap((text) => Array.from(text.matchAll(TYPED), ([, page]) => page))

  expect(pagesToRun.length).toBeGreaterThan(10)
  expect(new Set(typed)).toEqual(new Set(pagesToRun.map((name) => join('docs', name))))
})
