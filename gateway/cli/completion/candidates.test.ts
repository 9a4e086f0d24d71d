import { Command, Option } from 'commander'
import { expect, test } from 'vitest'
import { candidatesFor } from './candidates.ts'

const program = new Command('weir')
program.command('up').description('start')
program.command('secret', { hidden: true })
const cell = program.command('cell')
cell
  .command('list')
  .addOption(new Option('-o, --output <format>', 'how').choices(['table', 'json']))
  .option('--watch')
cell.command('leave')

const words = (...typed: string[]) => candidatesFor(program, typed).map(({ word }) => word)

test('offers nouns, then verbs, then options', () => {
  expect(words('')).toEqual(['up', 'cell', 'help'])
  expect(words('c')).toEqual(['cell'])
  expect(words('cell', 'l')).toEqual(['list', 'leave'])
  expect(words('cell', 'list', '-')).toEqual(['--output', '--watch', '--help'])
  expect(candidatesFor(program, ['u'])).toEqual([{ word: 'up', meaning: 'start' }])
})

test('offers the values of an option that waits for one', () => {
  expect(words('cell', 'list', '-o', '')).toEqual(['table', 'json'])
  expect(words('cell', 'list', '--output', 'j')).toEqual(['json'])
  expect(words('cell', 'list', '--output', 'json', '--w')).toEqual(['--watch'])
})
