// The call of `cargo bench -p opentool-dyn`, in Node with koffi: the nanoseconds of its best round, and of its median one.
const koffi = require(process.argv[2]);
const add = koffi.load(process.argv[3]).func('int add(int a, int b)');

const call = (text) => {
  const { a, b } = JSON.parse(text);
  return JSON.stringify({ sum: add(a, b) });
};

const text = '{"a":20,"b":22}';
if (call(text) !== '{"sum":42}') throw new Error(call(text));
const rounds = [];
const calls = 3000;
for (let round = 0; round < 300; round++) {
  const start = process.hrtime.bigint();
  for (let n = 0; n < calls; n++) call(text);
  rounds.push(Number(process.hrtime.bigint() - start) / calls);
}
rounds.sort((a, b) => a - b);
console.log(rounds[0].toFixed(1), rounds[rounds.length >> 1].toFixed(1));
