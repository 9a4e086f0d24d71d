import { expect, test } from 'vitest'
import { csv } from './csv.ts'

test('records are lines below the names of all their properties, nested ones with dots', () => {
  const records = [
    { name: 'a', used: { vcpus: 2, memory_mb: 512 }, tags: ['x', 'y'], cost: null },
    { name: 'b, "quoted"\nline', is_up: true },
  ]

  expect(csv(records)).toBe(
    [
      'name,used.vcpus,used.memory_mb,tags,cost,is_up',
      'a,2,512,"[""x"",""y""]",,',
      '"b, ""quoted""\nline",,,,,true',
      '',
    ].join('\r\n'),
  )
  expect(csv([])).toBe('')
})

test('text that a spreadsheet would take for a formula is marked as text', () => {
  const cells = csv([{ a: '=1+1', b: '-5', c: '-x', d: '@x', e: -0.5 }]).split('\r\n')[1]

  expect(cells).toBe("'=1+1,-5,'-x,'@x,-0.5")
})
