#!/usr/bin/env bash
# convert_test.sh STIPPLE: converts small models with every edit, and checks what is printed, the files that are written,
# and the errors for every kind of wrong input.
. "$(dirname "$0")/command_test.sh"
json() { python3 -c "import json, sys; j = json.load(open('stdout')); print(($1))"; }  # json EXPRESSION, with the output as j
json_is() { [ "$(json "$1")" = "$2" ]; }                                             # json_is EXPRESSION VALUE
low_of() { "$stipple" info "$1" --json | python3 -c "import json, sys; print(*(round(v, 3) + 0 for v in json.load(sys.stdin)['bounds']['low']))"; }

"$stipple" synth -o scene --views 9 --size 48x36 >/dev/null 2>&1 || exit 1
"$stipple" train scene -o run --steps 30 --max-gaussians 2000 --backend cpu --eval >/dev/null 2>&1 || exit 1

# model POINT...: a Gaussian at each point, of the size e^-2 and the opacity 1/2; the points are "x y z" or
# "x y z logit log_scale".
model() {
  echo ply; echo format ascii 1.0; echo element vertex $#
  for p in x y z opacity scale_0 scale_1 scale_2 f_dc_0 f_dc_1 f_dc_2 rot_0 rot_1 rot_2 rot_3; do
    echo "property float $p"
  done
  echo end_header
  for point in "$@"; do
    set -- $point
    echo "$1 $2 $3 ${4:-0} ${5:--2} ${5:--2} ${5:--2} 0 0 0 1 0 0 0"
  done
}
model "1 2 3" "0 0 0 -5" "0 0 1 0 1" "-4 0 0" >four.ply

run convert run out.ply
check "convert of a run succeeds" status_is 0
check "without edits, the model is the same" cmp run/model.ply out.ply
check "the sizes before and after are printed" grep -qE '^out.ply +3DGS .ply +[0-9]+ +[0-9]+ +3$' stdout
check "the relative size is printed" says "out.ply: 100.0 % of the size before"
before=$(stat -c %i out.ply)
run convert four.ply out.ply
check "an existing output is replaced" [ "$(stat -c %i out.ply)" != "$before" -a "$status" = 0 ]
run convert run four.ply joined.ply --json
check "several inputs are joined" json_is "j['output']['gaussians'] - j['inputs'][0]['gaussians']" 4
check "the joined model has the highest degree" json_is "[f['sh_degree'] for f in j['inputs'] + [j['output']]]" "[3, 0, 3]"
run convert run low.ply --sh-degree 1 --json
check "--sh-degree lowers the degree" json_is "j['output']['sh_degree']" 1
run convert low.ply same.ply --sh-degree 2
check "--sh-degree does not raise the degree" cmp low.ply same.ply

run convert run model.splat --json
check "the ending tells the format, and the output is described as it is in the file" \
  json_is "j['output']['gaussians'] == j['inputs'][0]['gaussians'], j['output']['sh_degree'], j['output']['bytes'] / 32" \
  "(True, 0, $(stat -c %s model.splat | awk '{printf "%.1f", $1 / 32}'))"
run convert model.splat back.ply --psnr scene --backend cpu --json
check "a model converted back is what its format had kept of it" json_is "j['psnr']['mean']['between'], j['output']['sh_degree']" "(None, 0)"

mkdir sog
run convert run sog/meta.json --json
check "a folder of SOG files counts with all of them" json_is "j['output']['bytes']" "$(cat sog/* | wc -c)"
run convert sog back.ply --json
check "such a folder is an input, too" json_is "[f['gaussians'] for f in j['inputs'] + [j['output']]]" "[2000, 2000]"

run convert four.ply plain.ply
run convert four.ply antialiased.ply --antialiased
check "--antialiased is noted in the file" [ "$(cmp plain.ply antialiased.ply >/dev/null 2>&1; echo $?)" = 1 ]
run convert antialiased.ply copy.ply
check "... and kept by a conversion" cmp antialiased.ply copy.ply
run convert antialiased.ply copy.ply --no-antialiased
check "... unless told otherwise" cmp plain.ply copy.ply
run convert antialiased.ply plain.ply copy.ply
check "joining models that differ in this: a warning" tells "antialiased.ply and plain.ply differ in whether they were trained for antialiased rendering"
run convert antialiased.ply plain.ply copy.ply --antialiased
check "... which the flag answers" [ ! -s stderr ]

run convert four.ply out.ply --crop -1,-1,-1,1,2,3 --json
check "--crop keeps what is in the box or on its border" json_is "j['output']['gaussians'], j['removed']" "(3, {'outside_the_box': 1})"
run convert four.ply out.ply --crop -1,-1,-1,1,1,1
check "--crop says what it removed" says "removed 2 Gaussians that are outside the box"
run convert four.ply out.ply --crop -0.1,-5,-5,0.1,5,5,0.7071068,0,0,0.7071068 --json
check "--crop with a rotation turns the box" json_is "j['output']['gaussians']" 3
run convert four.ply out.ply --prune-opacity 0.5 --json
check "--prune-opacity keeps the limit" json_is "j['output']['gaussians']" 3
run convert four.ply out.ply --max-gaussians 1
check "--max-gaussians keeps the largest" [ "$(low_of out.ply)" = "0.0 0.0 1.0" ]
run convert run few.ply --max-gaussians 100 --scene scene --json
check "--max-gaussians takes the cameras of a scene" json_is "j['output']['gaussians']" 100
run convert run others.ply --max-gaussians 100
check "... which changes the choice" [ "$(cmp few.ply others.ply >/dev/null; echo $?)" = 1 ]
run convert four.ply out.ply --max-gaussians 2 --crop -9,0,0,9,0,0
check "edits are applied in the documented order" [ "$(low_of out.ply)" = "-4.0 0.0 0.0" ]
run convert run order.ply --morton
check "--morton changes the order alone" [ "$(cmp order.ply run/model.ply >/dev/null; echo $?)" = 1 -a "$(stat -c %s order.ply)" = "$(stat -c %s run/model.ply)" ]
run convert order.ply again.ply --morton
check "--morton of a sorted model changes nothing" cmp order.ply again.ply

run convert four.ply four.spz --frame rub  # the numbers are flipped twice, so that the file has those of the .ply
run convert four.spz out.ply
check "an .spz that does not say its frame: says what to do" says "four.spz does not say its frame; if the result is upside down, give --from-spz-frame rdf"
run convert four.spz turned.ply --from-spz-frame rdf
check "--from-spz-frame is heeded" [ "$(low_of turned.ply)" = "-4.0 0.0 0.0" -a "$(low_of out.ply)" = "-4.0 -2.0 -3.0" ]
check "... and ends the question" [ "$(grep -c upside stdout)" = 0 ]
run convert run run3.spz --psnr scene --backend cpu --json
spz=$(json "round(j['psnr']['mean']['between'], 6)")
run convert run run4.spz --spz-version 4 --spz-frame rdf --psnr scene --backend cpu --json
check "--psnr does not depend on the frame of the file" json_is "round(j['psnr']['mean']['between'], 1)" "$(python3 -c "print(round($spz, 1))")"
check "--spz-version selects the version" [ "$(head -c 4 run4.spz | tr '\0' .) $(head -c 2 run3.spz | od -An -tx1)" = "NGSP  1f 8b" ]

model "1 2 3" >one.ply
moves() { # moves WHAT EXPECTED FLAG...: where the flags move the point (1, 2, 3)
  local what=$1 expected=$2; shift 2
  run convert one.ply moved.ply "$@"
  check "$what" [ "$(low_of moved.ply)" = "$expected" ]
}
moves "--translate moves" "0.0 4.0 6.5" --translate -1,2,3.5
moves "--scale enlarges" "2.0 4.0 6.0" --scale 2
moves "--rotate turns about x, then y, then z" "3.0 1.0 2.0" --rotate 90,0,90
moves "--frame changes the axes" "1.0 -2.0 -3.0" --frame rub
moves "--frame can mirror" "1.0 -2.0 3.0" --frame RUF
moves "--from-frame says where the axes pointed" "1.0 3.0 -2.0" --from-frame rub --frame rbd
moves "frame, matrix, scale, rotation and translation are applied in this order" "24.0 -2.0 -6.0" \
  --frame rub --transform "0 1 0 0  -1 0 0 0  0 0 1 10" --scale 2 --rotate 0,90,0 --translate 10,0,-10
zero=0.000000000000000000000000000000 one=1.000000000000000000000000000000
moves "--transform takes numbers of many digits" "2.0 2.0 3.0" --transform "$one $zero $zero $one $zero $one $zero $zero $zero $zero $one $zero"
printf '[[2, 0, 0, 1],\n [0, 0, -2, 1],\n [0, 2, 0, 1],\n [0, 0, 0, 1]]\n' >matrix.json
moves "--transform takes a file" "3.0 -5.0 5.0" --transform matrix.json
echo '{"transform": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], "scale": 0.5}' >nerf.json
moves "--transform takes a file with a transform and a scale" "1.0 1.0 1.5" --transform nerf.json
run convert run turned.ply --rotate 10,20,30 --scale 2 --frame luf --psnr scene --backend cpu --json
check "a model that was moved looks the same where it was" json_is "j['psnr']['mean']['between'] > 90" True
check "... and as much like the photos" json_is "abs(j['psnr']['mean']['original'] - j['psnr']['mean']['converted']) < 0.001" True
run convert run same.ply --psnr scene --backend cpu
check "--psnr says which views it used" says "in 2 of 2 views"
check "--psnr of an equal model: the pictures are equal" [ "$(awk '$2 == "equal"' stdout | wc -l)" = 3 ]
run eval run --json --backend cpu
psnr=$(json "round(j['psnr'], 6)")
run convert run same.ply --psnr scene --backend cpu --json
check "--psnr gives the PSNR that eval gives" json_is "round(j['psnr']['mean']['original'], 6)" "$psnr"
check "--psnr of an equal model is null in JSON" json_is "j['psnr']['mean']['between']" None
run convert run low.ply --sh-degree 0 --max-gaussians 1000 --psnr scene --backend cpu --json
check "--psnr shows what an edit costs" json_is "j['psnr']['mean']['between'] < 60" True

: >none.splat
run convert none.splat none.ply
check "a file of 0 bytes is an empty model" [ "$status" = 0 -a "$(grep -c 'inf\|nan' stdout)" = 0 ]

rm -f x.*
run convert nowhere.ply x.ply
check "missing model: the error names it" fails_with "nowhere.ply"
run convert four.ply nowhere.ply x.ply
check "second model missing: the error names it" fails_with "nowhere.ply"
run convert four.ply x.txt
check "wrong name: the error lists the right ones" fails_with "x.txt: the name of a model must end in one of"
run convert four.ply nowhere/x.ply
check "unwritable output: the error names it" fails_with "nowhere/x.ply"
ln -s four.ply link.ply
for name in four.ply ./four.ply link.ply; do
  run convert run four.ply $name
  check "output $name is an input: refused" fails_with "$name: this is also an input"
done
run convert run run/model.ply
check "output is the model of the run: refused" fails_with "this is also an input"
run convert four.ply
check "no output: usage error that says what is missing" [ "$status" = 2 -a "$(grep -c "as the last name, the output" stderr)" = 1 ]
run convert scene x.ply
check "a folder without a model: the error says what is missing" fails_with "scene: there is no model.ply in this folder; name the folder of a run"
run convert four.ply x.ply --scene scene
check "--scene without --max-gaussians: usage error" [ "$status" = 2 -a "$(grep -c -- --max-gaussians stderr)" = 1 ]
run convert four.ply x.ply --translate 1e10,0,0
check "too far a move: the error names the limit" tells "between -1e9 and 1e9"
run convert four.ply x.ply --crpo 1
check "mistyped option: the error names the nearest" tells "did you mean --crop?"
run convert four.ply x.ply --crop 7,7,7,8,8,8
check "nothing left: the error says why" fails_with "nothing is left of the model: all 4 Gaussians are outside the box"
run convert four.ply x.ply --crop -5,0,0,5,0,0 --prune-opacity 0.9
check "nothing left later: the error says why" fails_with "the last 2 Gaussians are too transparent"
for wrong in "--crop 1,2,3" "--crop 1,0,0,0,1,1" "--frame xyz" "--frame rlf" "--from-frame rd" "--rotate 1,2" \
    "--translate a,b,c" "--spz-frame rbu" "--spz-version 5" "--scale 0" "--scale nan" "--prune-opacity 2" "--sh-degree 4" "--max-gaussians 0"; do
  run convert four.ply x.ply $wrong
  check "$wrong: usage error that names the option" [ "$status" = 2 -a "$(grep -c -- "${wrong%% *}" stderr)" = 1 ]
done
run convert four.ply x.ply --transform "1 0 0 0 0 2 0 0 0 0 1 0"
check "a matrix that stretches: the error says what is possible" fails_with "can only be rotated, reflected, scaled uniformly and moved"
run convert four.ply x.ply --transform "1e60 0 0 0  0 1e60 0 0  0 0 1e60 0"
check "a matrix that makes numbers too large: the error says so" fails_with "too far away for a float"
run convert four.ply x.ply --transform "1 0 0 1e39  0 1 0 0  0 0 1 0"
check "a translation that is too large: the error says so" fails_with "too far away for a float"
run convert four.ply x.ply --spz-version 4
check "a flag of another format: the error names both" one_line_with "--spz-version is for an .spz, but x.ply is written as 3DGS .ply"
check "a flag of another format: usage error" status_is 2
run convert four.ply x.spz --from-spz-frame rdf
check "a flag of inputs of another format: the error names both" one_line_with "--from-spz-frame is for .spz inputs, but there is only 3DGS .ply"
check "these errors leave no file" [ ! -e x.ply -a ! -e x.spz ]
run info $(printf 'x%.0s' $(seq 300)).ply
check "a name that is too long: the error is one sentence" fails_with "File name too long"
run convert four.ply x.ply --transform "1 0 0"
check "a matrix with too few numbers: the error counts them" fails_with "this one has 3"
run convert four.ply x.ply --transform matrx.json
check "a matrix that is not there: the error names it" fails_with "matrx.json: there is no such file"
echo '{"matrix": 1}' >wrong.json
run convert four.ply x.ply --transform wrong.json
check "an object without a matrix: the error says what is missing" fails_with 'wrong.json: the object has no "transform"'
run convert four.ply x.ply --psnr nowhere
check "missing scene: the error names it" fails_with "nowhere"
check "nothing was written on errors" [ "$(ls x.* nowhere* 2>/dev/null | wc -l)" = 0 ]

# Interrupted while it reads: a pipe that nobody writes to would keep it for ever, but models are regular files, so a large
# one has to do.
cp four.ply kept.ply
{ sed 's/element vertex .*/element vertex 4000000/; /end_header/q' four.ply; yes "1 2 3 0 -2 -2 -2 0 0 0 1 0 0 0" | head -n 4000000; } >large.ply
has_opened() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q large.ply; }
start "$stipple" convert large.ply kept.ply
wait_until has_opened
stop_with INT
check "interrupted: the status is that of the signal" status_is 130
check "interrupted: the earlier output is unchanged" cmp four.ply kept.ply
check "interrupted: nothing else is left" [ "$(ls -A | grep -c part)" = 0 ]

finish
